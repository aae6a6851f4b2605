"""Ready adapters for real decoders and engines, each importable without its engine; and decoders by description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_oracle._lazy import lazy_names
from tree_oracle.adapters.engines import ENGINES as ENGINES
from tree_oracle.adapters.engines import Engine as Engine
from tree_oracle.adapters.engines import load_engine as load_engine

if TYPE_CHECKING:
    from tree_oracle.adapters.convention import Convention as Convention
    from tree_oracle.adapters.described import Described as Described
    from tree_oracle.adapters.described import Description as Description
    from tree_oracle.adapters.described import describe as describe
    from tree_oracle.adapters.projects import PROJECTS as PROJECTS
    from tree_oracle.adapters.projects import Project as Project
    from tree_oracle.adapters.projects import describe_as as describe_as

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Convention": "tree_oracle.adapters.convention",
        "Described": "tree_oracle.adapters.described",
        "Description": "tree_oracle.adapters.described",
        "describe": "tree_oracle.adapters.described",
        "PROJECTS": "tree_oracle.adapters.projects",
        "Project": "tree_oracle.adapters.projects",
        "describe_as": "tree_oracle.adapters.projects",
    },
)
