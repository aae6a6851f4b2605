"""Write ``instances.json`` anew: ``python -m tree_oracle.verify.law.write_answers``."""

from __future__ import annotations

import json
from pathlib import Path

from tree_oracle.verify.law.instances import HIDING, INSTANCES, answers


def main() -> None:
    """Compute every answer and replace the file beside this module."""
    found = {instance.name: answers(instance) for instance in (*INSTANCES, *HIDING)}
    text = json.dumps(found, indent=1) + "\n"
    (Path(__file__).parent / "instances.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
