"""The border: what an adapter answers is read strictly, and anything else is the adapter's fault, said by name.

Lists, numpy arrays and torch tensors are read; half precision is widened to float32, which is exact. A wrong shape, dtype
or convention is an ``AdapterError``. A NaN is not: the shape is right and the number is wrong, so the decoder is. Nothing
is iterated that has no length of its own, since an answer may have no end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from tree_oracle.decoder.caches import Pool
from tree_oracle.record import AdapterError, Array, DecoderError, FileError, LayerRows, counted
from tree_oracle.tree.formats import Shown

# Additive masks hold 0 where a row attends; anything at or below this is a "no". Real masks use -10000, finfo.min or -inf.
_HIDDEN_BELOW = -1e4
_LARGEST = int(np.iinfo(np.int64).max)
_NUMBERS = frozenset((int, float, bool))


def array(value: Any, what: str) -> np.ndarray:
    """``value`` as a numpy array."""
    found = value if type(value) is np.ndarray else _read(value, what)  # a subclass may be anything
    if found.dtype.kind not in "biuf":
        raise AdapterError(f"{what} is {short(value)} of dtype {found.dtype}; expected numbers")
    return found.astype(np.float32) if found.dtype == np.float16 else found


def _read(value: Any, what: str) -> np.ndarray:
    """What is no plain array as one."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # a torch tensor, without importing torch for the question
        value = value.detach().cpu()
        value = (value.float() if value.dtype.is_floating_point and value.dtype.itemsize < 4 else value).numpy()
    if not isinstance(value, list | tuple | range | Array) and not hasattr(value, "__array__"):
        raise AdapterError(f"{what} is {short(value)}; expected numbers in a list, a numpy array or a torch tensor")
    if isinstance(value, np.ma.MaskedArray):  # every comparison with a masked entry is masked, and so never false
        raise AdapterError(f"{what} is a masked array; expected its numbers, without a mask")
    value = _plain(value, what)
    try:
        return np.asarray(value.numpy() if isinstance(value, Array) else value)
    except (FileError, TypeError, ValueError) as error:
        raise AdapterError(f"{what} is ragged or not an array: {error}") from error


def integers(value: Any, what: str, size: int | None = None) -> Int[np.ndarray, " size"]:
    """A flat array of integers, of length ``size`` if one is given."""
    found = array(value, what)
    if found.size == 0:
        found = found.astype(np.int64)
    if found.ndim != 1 or (size is not None and len(found) != size):
        expected = "one axis" if size is None else f"shape ({size},)"
        raise AdapterError(f"{what} has shape {found.shape}; expected {expected}")
    if found.dtype.kind not in "iu":
        raise AdapterError(f"{what} has dtype {found.dtype}; expected integers")
    if found.dtype.kind == "u" and found.size and int(found.max()) > _LARGEST:
        raise AdapterError(f"{what} holds {int(found.max())}; expected integers up to {_LARGEST}")
    return found.astype(np.int64)


def tokens(value: Any, what: str, vocab_size: int) -> tuple[int, ...]:
    """Token ids inside the vocabulary."""
    found = integers(value, what)
    for index, token in enumerate(found.tolist()):
        if not 0 <= token < vocab_size:
            raise AdapterError(f"{what}[{index}] is token {token}; expected 0 to {vocab_size - 1}")
    return tuple(found.tolist())


def nodes(value: Any, what: str, count: int) -> tuple[int, ...]:
    """Node numbers of a tree of ``count`` nodes."""
    found = integers(value, what)
    for index, node in enumerate(found.tolist()):
        if not 0 <= node < count:
            raise AdapterError(f"{what}[{index}] is node {node}; expected 0 to {count - 1} (no padding)")
    return tuple(found.tolist())


def accepted(value: Any, count: int) -> tuple[int, ...]:
    """The accepted nodes of a tree of ``count`` nodes, without the root."""
    path = nodes(value, "accepted", count)
    if 0 in path:
        raise AdapterError(f"accepted is {list(path)}; the root, node 0, is never counted as accepted")
    return path


def decision(answer: Any, count: int, vocab_size: int) -> tuple[tuple[int, ...], int]:
    """The accepted nodes and the bonus token: a pair, or fields of these names."""
    path, bonus = _field(answer, "accepted"), _field(answer, "bonus")
    if path is None or bonus is None:
        if not isinstance(answer, Sequence) or len(answer) != 2:
            raise AdapterError(f"accept answered {type(answer).__name__}; expected (accepted nodes, bonus token)")
        path, bonus = answer
    (token,) = tokens([bonus], "bonus", vocab_size)
    return accepted(path, count), token


def rows(value: Any, what: str, count: int, vocab_size: int) -> Float[np.ndarray, "n vocab"]:
    """Rows, one per node.

    Raises:
        AdapterError: wrong shape or dtype.
        DecoderError: a row holds NaN.
    """
    found = array(value, what)
    if found.shape != (count, vocab_size):
        raise AdapterError(
            f"{what} has shape {found.shape}; expected ({count}, {vocab_size}): one row per node, root first"
        )
    if found.dtype.kind != "f":
        raise AdapterError(f"{what} has dtype {found.dtype}; expected floating point")
    bad = np.isnan(found).any(axis=1)
    if bad.any():
        raise DecoderError(f"{what}: the row of node {int(bad.argmax())} holds NaN")
    return found


def heads(value: Any, what: str, shape: tuple[int, ...]) -> Float[np.ndarray, "heads n width"]:
    """Outputs of attention.

    Raises:
        AdapterError: wrong shape or dtype.
        DecoderError: a row holds NaN.
    """
    found = array(value, what)
    if found.shape != shape:
        raise AdapterError(f"{what} answered shape {found.shape}; expected {shape}: heads x nodes x width")
    if found.dtype.kind != "f":
        raise AdapterError(f"{what} answered dtype {found.dtype}; expected floating point")
    bad = np.argwhere(np.isnan(found).any(axis=2))
    if len(bad):
        raise DecoderError(f"{what}: the row of node {int(bad[0][1])} in head {int(bad[0][0])} holds NaN")
    return found


def visible(answer: Any, count: int, columns: int) -> Bool[np.ndarray, "n columns"]:
    """The mask of a layout, whose field's *name* states the polarity; it is never guessed from values."""
    given = [name for name in ("visible", "hidden", "additive") if _field(answer, name) is not None]
    if len(given) != 1:
        raise AdapterError(
            f"a layout holds {' and '.join(given) or 'no mask'}; expected one of visible, hidden, additive"
        )
    name = given[0]
    found = array(_field(answer, name), f"layout.{name}")
    if found.shape != (count, columns):
        raise AdapterError(
            f"layout.{name} has shape {found.shape}; expected ({count}, {columns}): "
            f"one row per node, columns for the cached prefix without the root, then for the nodes"
        )
    if name == "additive":
        return _from_additive(found)
    if found.dtype != np.bool_:
        raise AdapterError(f"layout.{name} has dtype {found.dtype}; expected bool")
    return found if name == "visible" else ~found


def positions(answer: Any, count: int) -> tuple[int, ...] | None:
    """The positions of a layout; None where it was read from an encoding that holds none."""
    found = _field(answer, "positions")
    if found is None and isinstance(answer, Shown):
        return None
    if found is None:
        raise AdapterError("a layout holds no positions; expected one integer per node")
    return tuple(integers(found, "layout.positions", count).tolist())


def tree(answer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tokens and parents that a decoder built. Whether they make a tree is not asked: that is what is judged."""
    tokens, parents = _field(answer, "tokens"), _field(answer, "parents")
    if tokens is None or parents is None:
        tokens, parents = entries(answer, "build_tree", "tokens and parents, or fields of these names", 2)
    found = integers(tokens, "tokens")
    return tuple(found.tolist()), tuple(integers(parents, "parents", len(found)).tolist())


def moved(answer: Any, pools: Sequence[Pool]) -> tuple[tuple[Array, ...], int | None, tuple[int, ...] | None]:
    """What a move left: every pool, entry x element, then the rows of the request and its block table if they are told.

    The answer is None, the number of rows, or an object or mapping with any of ``length``, ``pages`` and ``pools``; without
    ``pools`` those that were handed over are taken to have been changed in place.
    """
    length = answer if isinstance(answer, int | np.integer) else _field(answer, "length")
    pages, given = _field(answer, "pages"), _field(answer, "pools")
    if answer is not None and length is None and pages is None and given is None:
        raise AdapterError(f"move answered {short(answer)}; expected None, a length, or any of length, pages and pools")
    if given is not None:
        arrays = entries(
            given, "pools", f"{len(pools)} arrays, in the order in which they were handed over", len(pools)
        )
        pools = [_answered(value, pool) for value, pool in zip(arrays, pools, strict=True)]
    held = tuple(Array.of(pool.read().astype(np.int32)) for pool in pools)
    table = None if pages is None else tuple(integers(pages, "pages").tolist())
    return held, None if length is None else int(integers([length], "length")[0]), table


def layers(value: Any, what: str) -> tuple[LayerRows, ...]:
    """One request's cache: per layer keys and values, heads x rows x width."""
    shown = entries(value, what, "one (keys, values) per layer")
    return tuple(_layer(entry, f"{what} layer {index}") for index, entry in enumerate(shown))


def field(answer: Any, name: str) -> Any:
    """A field of a mapping or an attribute of an object; None where there is none."""
    return _field(answer, name)


def sequence(value: Any, what: str, size: int) -> list[Any]:
    """A list or tuple with one entry per request."""
    return entries(value, what, f"{counted(size, 'entry')}, one per request", size)


def entries(value: Any, what: str, expected: str, size: int | None = None) -> list[Any]:
    """The entries of a list or tuple, read by index: an iterator of the decoder's own may have no end."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or size not in (None, len(value)):
        raise AdapterError(f"{what} is {short(value)}; expected a list with {expected}")
    return [value[index] for index in range(len(value))]


def short(value: Any) -> str:
    """The type and the beginning of the value."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _plain(value: Any, what: str) -> Any:
    """Lists of any depth as plain ones: numpy iterates every object that can be indexed, and it may have no end."""
    if isinstance(value, list | tuple):
        items = list(list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value))
        return items if _NUMBERS.issuperset(map(type, items)) else [_plain(item, what) for item in items]
    if hasattr(value, "__getitem__") and not isinstance(value, str | bytes | range) and not hasattr(value, "__array__"):
        raise AdapterError(f"{what} holds {short(value)}; expected numbers")
    return value


def _answered(value: Any, pool: Pool) -> Pool:
    """A pool that was handed back; one that is kept in floating point holds the same whole numbers."""
    what = f"the {pool.part} of layer {pool.layer}"
    found = array(value, what)
    if found.shape != pool.data.shape:
        raise AdapterError(f"{what} have shape {found.shape}; expected {pool.data.shape}, as they were handed over")
    with np.errstate(invalid="ignore"):
        whole = (found == np.round(found)) & (np.abs(found) < 2**31)
    found = np.where(whole, found, -1)  # -1 is nobody's tag
    kind = np.uint8 if pool.packed else np.int32
    return Pool(pool.layer, pool.part, np.ascontiguousarray(found.astype(kind)), pool.packed)


def _layer(entry: Any, what: str) -> LayerRows:
    if isinstance(entry, LayerRows):
        entry = (entry.keys, entry.values)
    if not isinstance(entry, Sequence) or len(entry) != 2:
        raise AdapterError(f"{what} is {short(entry)}; expected (keys, values)")
    return LayerRows(_part(entry[0], what), _part(entry[1], what))


def _part(part: Any, what: str) -> Array:
    found = array(part, what)
    if found.ndim != 3:
        raise AdapterError(f"{what} has shape {found.shape}; expected heads x rows x width")
    return Array.of(found)


def _from_additive(found: np.ndarray) -> Bool[np.ndarray, "n columns"]:
    between = (found != 0) & ~(found <= _HIDDEN_BELOW)
    if found.dtype.kind != "f" or between.any():
        example = found[between].flat[0] if between.any() else found.dtype
        raise AdapterError(f"layout.additive holds {example}; expected floats that are 0 or at most {_HIDDEN_BELOW:g}")
    return np.asarray(found == 0)


def _field(answer: Any, name: str) -> Any:
    return answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)
