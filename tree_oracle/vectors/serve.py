"""The reference as a program that speaks the protocol: ``python -m tree_oracle.vectors.serve``.

One request a line on standard input, one reply a line on standard output, until the input ends. It answers from the inputs
alone and never reads the corpus.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from tree_oracle.record import TreeOracleError
from tree_oracle.tree import InvalidTree
from tree_oracle.tree.formats import InvalidEncoding
from tree_oracle.vectors.answers import answer
from tree_oracle.vectors.judge import Reply
from tree_oracle.vectors.model import (
    FORMAT,
    VERSION,
    Build,
    Decode,
    Encode,
    LayOut,
    Merge,
    MergeDraws,
    Place,
    Stop,
    Walk,
)

INPUTS: dict[str, Any] = {
    "lay_out": LayOut,
    "encode": Encode,
    "decode": Decode,
    "build": Build,
    "merge": Merge,
    "merge_draws": MergeDraws,
    "walk": Walk,
    "stop": Stop,
}


def replied(request: dict[str, Any]) -> Any:
    """The reply to one request, or to the greeting."""
    if "protocol" in request:
        return {"protocol": FORMAT, "version": VERSION, "name": "tree_oracle", "operations": list(INPUTS)}
    operation = request["operation"]
    if operation not in INPUTS:
        return Reply(request["id"], unsupported=f"no operation {operation!r}")
    try:
        asked = msgspec.convert(request["input"], type=INPUTS[operation])
        return Reply(request["id"], answer=msgspec.to_builtins(answer(asked)))
    except InvalidTree as error:
        return Reply(request["id"], refused=str(error))
    except InvalidEncoding as error:
        return Reply(request["id"], refused=str(error), at=_blamed(error, request["input"]["documents"]))
    except (TreeOracleError, msgspec.ValidationError) as error:
        return Reply(request["id"], error=f"{type(error).__name__}: {error}")


def _blamed(error: InvalidEncoding, documents: list[Any]) -> Place | None:
    """The entry, where it is certain which document it stands in."""
    return None if error.index is None or len(documents) > 1 else (0, error.field, *error.index)


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(msgspec.json.encode(replied(msgspec.json.decode(line))) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
