"""Ready adapters for real decoders and engines, each importable without its engine."""

from tree_oracle.adapters.engines import ENGINES as ENGINES
from tree_oracle.adapters.engines import Engine as Engine
from tree_oracle.adapters.engines import load_engine as load_engine
