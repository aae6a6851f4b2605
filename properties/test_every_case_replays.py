"""Whatever a check is shown can be handed to it again from a file: the command under a failure works for every case."""

from __future__ import annotations

import msgspec
import pytest
from grounds import ground

from tree_oracle.checks import CHECKS
from tree_oracle.record import RequestData, UsageError
from tree_oracle.run.misfits import refuse_misfit

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("name", CHECKS)
def test_no_case_of_a_check_is_refused(name: str) -> None:
    """A listed case of any of its scenes fits the check and the target when it comes from a file."""
    check, found = CHECKS[name], ground()
    cases = [case for source in check.sources for case in found.stock.of(source.scene)]
    assert cases
    for case in cases:
        refuse_misfit(case, [check], found.target)


def test_a_request_of_a_batch_is_looked_at_like_a_case() -> None:
    """A token that the target does not have, and a request that begins with nothing, are refused wherever they stand."""
    (check, source), found = next((c, s) for c in CHECKS.values() for s in c.sources if s.scene.batched), ground()
    case = found.stock.of(source.scene)[0]
    for wrong, message in (({"prompt": (61,)}, "token 61"), ({"prompt": ()}, "no prefix")):
        batch = (*case.batch, RequestData(trees=case.batch[0].trees, **wrong))
        with pytest.raises(UsageError, match=f"the case has {message}; target 'exact' needs tokens from 0 to 60"):
            refuse_misfit(msgspec.structs.replace(case, batch=batch), [check], found.target)
