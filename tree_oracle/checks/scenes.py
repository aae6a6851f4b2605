"""The scenes: which cases each seam is driven with.

trees    one tree over a prefix                        lay_out, tree_logits
widths   a tree, a branch, other tokens (in ``widths``)  tree_logits
wide     two larger trees (in ``wide``)                lay_out
pairs    two trees that differ in one node's token     tree_logits
ties     a tree and made-up rows with many ties        accept
marked   a tree and rows, each with its own choice     accept
moves    pools of made-up integers (in ``moves``)      move
states   the same with recurrent layers                move
attends  trees and made-up keys (in ``attends``)       attend
rounds   several trees, one per round                  open
near     two trees, the first over a near tie (in ``near``)  open
batches  a session of several requests (in ``batches``)  open
batch paths  the same with processors (in ``batch_paths``)  open
prompts  a prompt and limits                           generate
prompt batches  several prompts (in ``prompt_batches``)  generate
drafted  trees that no ordinary draft is (in ``drafted``)  open
drafters a drafter of such trees                       generate
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.shapes import FORK, LARGE, SHAPES, Shape
from tree_oracle.checks.tables import close_rows, marked_rows, marks, tied_rows
from tree_oracle.record import Array, Case, Limits, TreeData
from tree_oracle.strategies import ScriptedTree, greedy_tables, prefixes, scripted_trees

# Prefix lengths of the listed cases: nothing cached, one row cached, more rows than nodes.
_LENGTHS = (1, 2, 9)
_ROUNDS = 3
_MANY_ROUNDS = 7
_FAR = 130  # tokens: beyond pages, tiles and pools of 16, 64 and 128
_BELOW = 64  # more than any made-up logit

_DRAWN = (
    60  # tokens whose order or scores are drawn: a real vocabulary would be more than Hypothesis can draw for one case
)


def spread_prefix(stage: Stage, length: int, salt: int) -> tuple[int, ...]:
    """A prefix of tokens all over the vocabulary, another one for every ``salt``."""
    return tuple((7 * i * i + 5 * i + 3 * salt + 1) % stage.vocab_size for i in range(length))


def decoys(stage: Stage, shape: Shape, goal: int) -> ScriptedTree:
    """The shape with a token of its own at every node, none of them the target's yet."""
    tokens = tuple((11 * slot + 5) % stage.vocab_size for slot in range(len(shape.parents)))
    return ScriptedTree(parents=shape.parents, tokens=tokens, goal=goal, distinct_siblings=True)


def listed_shapes() -> list[tuple[Shape, int]]:
    """Every shape with each of its goals."""
    return [(shape, goal) for shape in SHAPES for goal in shape.goals]


def note_of(shape: Shape, goal: int) -> str:
    """The condition that a listed case meets, for a reader."""
    return f"{shape.name}, accepted down to node {goal}"


def _listed_trees(stage: Stage) -> list[Case]:
    cases = []
    for index, (shape, goal) in enumerate(listed_shapes()):
        prefix = spread_prefix(stage, _LENGTHS[index % len(_LENGTHS)], index)
        tree = stage.script(prefix, decoys(stage, shape, goal))
        cases.append(Case(prefix=prefix, trees=(tree,), note=note_of(shape, goal)))
    return cases


def _listed_sizes(stage: Stage) -> list[Case]:
    """One of each shape and goal, and one of more than sixteen nodes."""
    prefix = spread_prefix(stage, 3, 40)
    large = stage.script(prefix, decoys(stage, LARGE, *LARGE.goals))
    return [*_listed_trees(stage), Case(prefix=prefix, trees=(large,), note=note_of(LARGE, *LARGE.goals))]


def any_shape(stage: Stage, *, min_nodes: int = 1) -> st.SearchStrategy[ScriptedTree]:
    """Any tree with distinct siblings and any of its nodes as the goal."""
    return scripted_trees(vocab_size=stage.vocab_size, min_nodes=min_nodes, distinct_siblings=True)


def _drawn_trees(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    return Case(prefix=prefix, trees=(stage.script(prefix, draw(any_shape(stage))),))


def _changed(tree: TreeData, node: int, vocab_size: int) -> TreeData:
    """The same tree with another token at ``node``, one that none of its siblings holds."""
    taken = {tree.tokens[v] for v in range(len(tree.tokens)) if tree.parents[v] == tree.parents[node]}
    token = next(t for t in range(vocab_size) if t not in taken)
    return TreeData((*tree.tokens[:node], token, *tree.tokens[node + 1 :]), tree.parents)


def _pair(case: Case, node: int, stage: Stage) -> Case:
    (tree,) = case.trees
    note = f"the token of node {node} is changed"
    return Case(prefix=case.prefix, trees=(tree, _changed(tree, node, stage.vocab_size)), note=note)


def _listed_pairs(stage: Stage) -> list[Case]:
    single = [case for case in _listed_trees(stage) if len(case.trees[0].tokens) > 1]
    return [_pair(case, 1 + index % (len(case.trees[0].tokens) - 1), stage) for index, case in enumerate(single)]


def _drawn_pairs(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    tree = stage.script(prefix, draw(any_shape(stage, min_nodes=2)))
    node = draw(st.integers(1, len(tree.tokens) - 1))
    return _pair(Case(prefix=prefix, trees=(tree,)), node, stage)


def fed(tree: TreeData, rows: np.ndarray, note: str = "") -> Case:
    """A case for ``accept``: a tree and the rows to decide by."""
    return Case(prefix=(tree.tokens[0],), trees=(tree,), rows=Array.of(rows.astype(np.float32)), note=note)


def _listed_ties(stage: Stage) -> list[Case]:
    cases = []
    for shape, goal in listed_shapes():
        tree = decoys(stage, shape, goal).to_data()
        cases.append(fed(tree, tied_rows(tree, goal, stage.vocab_size), f"{note_of(shape, goal)}, with ties"))
    return cases


def _drawn_ties(draw: st.DrawFn, stage: Stage) -> Case:
    tree = draw(any_shape(stage)).to_data()
    rows = draw(greedy_tables(tree, vocab_size=min(stage.vocab_size, _DRAWN)))
    return fed(tree, np.pad(rows, ((0, 0), (0, stage.vocab_size - rows.shape[1]))))


def _listed_marked(stage: Stage) -> list[Case]:
    cases = []
    for index, (shape, goal) in enumerate([*listed_shapes(), (LARGE, LARGE.goals[0])]):
        tree = decoys(stage, shape, goal).to_data()
        order = np.random.default_rng(index).permutation(stage.vocab_size).tolist()
        cases.append(fed(tree, marked_rows(marks(tree, goal, order), stage.vocab_size), note_of(shape, goal)))
        if not index % 8:
            below = marked_rows(marks(tree, goal, order), stage.vocab_size) - _BELOW
            cases.append(fed(tree, below, f"{note_of(shape, goal)}, every logit negative"))
        if index % 8 == 4 and not stage.in_half:
            close = close_rows(marks(tree, goal, order), stage.vocab_size)
            cases.append(fed(tree, close, f"{note_of(shape, goal)}, choices that tie in half precision"))
    return cases


def _drawn_marked(draw: st.DrawFn, stage: Stage) -> Case:
    shape = draw(any_shape(stage))
    tree = shape.to_data()
    order = draw(st.permutations(range(min(stage.vocab_size, _DRAWN))))
    order = [*order, *range(len(order), stage.vocab_size)]
    return fed(tree, marked_rows(marks(tree, shape.goal, order), stage.vocab_size))


def script_rounds(
    stage: Stage, prefix: tuple[int, ...], shapes: Sequence[ScriptedTree], limits: Limits, note: str
) -> Case:
    """Rounds in which each tree holds the target's own choices down to its goal, on the prefix that the round starts from."""
    trees, here = [], prefix
    for shape in shapes:
        trees.append(stage.script(here, shape))
        here = stage.after(here, trees[-1])
    return Case(prefix=prefix, trees=tuple(trees), limits=limits, note=note)


def _listed_rounds(stage: Stage) -> list[Case]:
    listed, cases = listed_shapes(), []
    for index, (shape, goal) in enumerate(listed):
        later = [listed[(index * 5 + 7 * step) % len(listed)] for step in range(1, _ROUNDS)]
        scripts = [decoys(stage, *pair) for pair in [(shape, goal), *later]]
        prefix = spread_prefix(stage, _LENGTHS[index % len(_LENGTHS)], index)
        cases.append(
            script_rounds(stage, prefix, scripts, Limits(max_new_tokens=64), f"first round: {note_of(shape, goal)}")
        )
    long = [decoys(stage, LARGE, *LARGE.goals), *[decoys(stage, FORK, *FORK.goals)] * (_MANY_ROUNDS - 1)]
    note = f"seven rounds; first round: {note_of(LARGE, *LARGE.goals)}"
    behind = [decoys(stage, LARGE, *LARGE.goals), *[decoys(stage, FORK, *FORK.goals)] * 2]
    return [
        *cases,
        script_rounds(stage, spread_prefix(stage, 2, 41), long, Limits(max_new_tokens=64), note),
        script_rounds(
            stage, spread_prefix(stage, _FAR, 43), behind, Limits(max_new_tokens=64), f"behind {_FAR} tokens"
        ),
    ]


def _drawn_rounds(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    shapes = draw(st.lists(any_shape(stage), min_size=2, max_size=_ROUNDS))
    return script_rounds(stage, prefix, shapes, Limits(max_new_tokens=64), "")


def _ending(stage: Stage, prefix: tuple[int, ...], cap: int, end: int | None, note: str = "") -> Case:
    """A prompt whose ``end``-th greedy token is declared an end token, so that no end has to be hunted for."""
    eos = () if end is None else (stage.choices(prefix, end + 1)[end],)
    return Case(prefix=prefix, limits=Limits(max_new_tokens=cap, eos_ids=eos), note=note)


def _listed_prompts(stage: Stage) -> list[Case]:
    ends = [(cap, None) for cap in (1, 2, 3, 5, 8, 13)] + [(13, end) for end in (0, 1, 2, 3, 4, 6)]
    return [
        _ending(stage, spread_prefix(stage, length, 31 + cap), cap, end, f"at most {cap} tokens, end at {end}")
        for cap, end in ends
        for length in (1, 6)
    ] + [_ending(stage, spread_prefix(stage, 40, 45), _FAR, None, f"a long text of {_FAR} tokens")]


def _drawn_prompts(draw: st.DrawFn, stage: Stage) -> Case:
    prefix = draw(prefixes(vocab_size=stage.vocab_size))
    return _ending(stage, prefix, draw(st.integers(1, 16)), draw(st.none() | st.integers(0, 12)))


_MANY = range(1, 1_000)
TREES = Scene("trees", _listed_sizes, st.composite(_drawn_trees), trees=range(1, 2), drawn=_drawn_trees)
PAIRS = Scene("pairs", _listed_pairs, st.composite(_drawn_pairs), trees=range(2, 3), drawn=_drawn_pairs)
TIES = Scene("ties", _listed_ties, st.composite(_drawn_ties), trees=range(1, 2), fed=True, drawn=_drawn_ties)
MARKED = Scene("marked", _listed_marked, st.composite(_drawn_marked), trees=range(1, 2), fed=True, drawn=_drawn_marked)
ROUNDS = Scene("rounds", _listed_rounds, st.composite(_drawn_rounds), trees=_MANY, limited=True, drawn=_drawn_rounds)
PROMPTS = Scene(
    "prompts",
    _listed_prompts,
    st.composite(_drawn_prompts),
    trees=range(1),
    limited=True,
    heavy=True,
    drawn=_drawn_prompts,
)
