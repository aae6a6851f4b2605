"""The door for people: ``tree-oracle``. Thin: every command parses, calls one function, prints, and exits with its code.

Exit codes: 0 held at the level asked for, 1 the decoder failed, 2 usage, 3 the adapter or the harness is at fault, 4 nothing
was decided, 130 interrupted. Heavy imports stand inside the commands, so that ``--help`` is instant.
"""

from tree_oracle.cli.group import main as main
