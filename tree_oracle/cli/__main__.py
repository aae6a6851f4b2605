"""``python -m tree_oracle.cli``."""

from tree_oracle.cli import main

if __name__ == "__main__":
    main()
