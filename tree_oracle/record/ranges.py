"""The integers of documents, by what they count: a file that holds another one is refused where it is read.

What a decoder answered is read as it is, as long as arrays can hold it: a token that there is not is for a judge to name.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # JSON readers that know floats alone keep these apart
Token: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # that an array can hold
