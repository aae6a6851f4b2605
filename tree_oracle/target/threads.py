"""One torch thread for small models.

A tiny matrix product takes microseconds and waking a second thread takes longer: on two cores beside one busy process the
exact and tiny models ran 400 to 600 trees a second on one thread and 7 to 54 on two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Hold torch to one thread inside the block; the former count comes back afterwards, also after an error.

    The count belongs to the process, not to the Python thread that sets it.
    """
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
