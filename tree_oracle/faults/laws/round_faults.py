"""Planted faults that need more than one node: builders that look ahead, block rules, other laws, coins used again."""

from __future__ import annotations

from fractions import Fraction

from tree_oracle.faults.laws.fault import LawFault
from tree_oracle.faults.laws.memory import KeptNoise
from tree_oracle.faults.laws.trees import (
    CoinsByNode,
    all_but_the_last_level,
    filtered,
    most_probable,
    unscaled_block,
    up_to_first_other_than,
)
from tree_oracle.faults.laws.views import (
    END,
    HALF,
    FirstTokens,
    bonus_from,
    due,
    penalised,
    raw,
    residual_from,
    tests_from,
    through_first_tokens,
    unended,
)
from tree_oracle.verify.law import (
    GOLDEN,
    INSTANCES,
    Declaration,
    EndsAt,
    NodeScheme,
    PresencePenalty,
    Temperature,
    TopK,
    TreeScheme,
    processed,
)
from tree_oracle.verify.rules import (
    PROPOSALS,
    ByDepth,
    Models,
    Walk,
    block,
    multi_round,
    point_mass,
    ratio_chain,
    without_replacement,
)

_D = GOLDEN.models
_SMALL = next(instance for instance in INSTANCES if instance.name == "repeating").models
_INDEPENDENT, _ORDERED = PROPOSALS["independent"], PROPOSALS["without-replacement"]
_PAIRS, _CHAIN, _ONE = ByDepth((2, 2)), ByDepth((1, 1)), ByDepth((1,))
_COOLED = Models(processed(_D.target, Temperature(HALF)), _D.draft)
_PENALISED = Models(processed(_D.target, PresencePenalty(HALF)), _D.draft)
_CUT = Models(processed(_D.target, TopK(2)), _D.draft)
_ENDED = Models(processed(_D.target, EndsAt(END)), _D.draft)
_NARROW = Models(_D.target, processed(_D.draft, FirstTokens(3)))
_UNSURE = Models.constant((Fraction(7, 10), Fraction(3, 10)), (HALF, HALF))
_ORDERED_PAIR = NodeScheme(without_replacement, _ORDERED, ByDepth((2,)))
_ORDERED_PAIRS = NodeScheme(without_replacement, _ORDERED, _PAIRS)
_ONE_DRAW = NodeScheme(ratio_chain, _INDEPENDENT, _ONE)


def _kept_noise(name: str, sentence: str, draws: bool, tests: bool, first: int = 0) -> LawFault:
    scheme = NodeScheme(multi_round, _INDEPENDENT, ByDepth((2,)))
    return LawFault(
        name=name,
        check="LAW-06",
        sentence=sentence,
        wakes=f"{('two', 'three')[first]} rounds, judged together: each round alone may look right",
        seen_in="Sequoia, whose noise is drawn once per tree object",
        scheme=KeptNoise(scheme, draws, tests, first),
        twin_sentence="the noise is kept and never used",
        twin=KeptNoise(scheme, draws=False, tests=False, first=first),
        declared=Declaration(rule="multi-round", proposal="independent"),
        models=_SMALL,
        tokens=3,
        rounds=3,
    )


ROUND_FAULTS = (
    LawFault(
        name="pruned-after-the-draw",
        check="LAW-05",
        sentence="a tree is drawn without replacement, cut to its most probable nodes, and verified as if drawn so",
        wakes="a node whose admission depends on its own token",
        seen_in="budgets spent on sampled trees",
        scheme=filtered(Walk(without_replacement), _ORDERED, _PAIRS, most_probable(3)),
        twin_sentence="the same trees are verified as point masses",
        twin=filtered(Walk(point_mass), _ORDERED, _PAIRS, most_probable(3)),
        declared=Declaration(rule="without-replacement", proposal="without-replacement"),
        twin_declared=Declaration(rule="point-mass", proposal="without-replacement"),
        models=_SMALL,
        tokens=3,
    ),
    LawFault(
        name="cut-after-seeing",
        check="LAW-05",
        sentence="a chain is cut before the first token that a confidence head does not like, which it has seen by then",
        wakes="confidence that depends on the token",
        seen_in="DSpark, appendix A",
        scheme=filtered(Walk(ratio_chain), _INDEPENDENT, _ONE, up_to_first_other_than(0)),
        twin_sentence="the chain is cut by depth",
        twin=filtered(Walk(ratio_chain), _INDEPENDENT, _CHAIN, all_but_the_last_level),
        declared=Declaration(rule="ratio-chain", proposal="independent", siblings=1),
        models=_UNSURE,
    ),
    LawFault(
        name="unscaled-block-residual",
        check="LAW-01",
        sentence="block verification draws from the residual of the ratio rule, without the weight of the path",
        wakes="two tokens judged together: the first one alone is right",
        seen_in="block verification put together from parts of a chain sampler",
        scheme=TreeScheme(unscaled_block, _INDEPENDENT, _CHAIN),
        twin_sentence="the residual is scaled by the weight of the path",
        twin=TreeScheme(block, _INDEPENDENT, _CHAIN),
        declared=Declaration(rule="block", proposal="independent", siblings=1),
        models=_D,
        tokens=2,
    ),
    LawFault(
        name="raw-bonus",
        check="LAW-04",
        sentence="after a fully accepted path the bonus is drawn without the temperature",
        wakes="a temperature, and a path accepted to its end",
        seen_in="EAGLE until 2025-05, HASS",
        scheme=bonus_from(_ORDERED_PAIR, raw),
        twin_sentence="it is drawn with the temperature, through the same detour",
        twin=bonus_from(_ORDERED_PAIR, due),
        declared=Declaration(rule="without-replacement", proposal="without-replacement", processing=Temperature(HALF)),
        models=_COOLED,
        tokens=2,
    ),
    LawFault(
        name="raw-tests",
        check="LAW-04",
        sentence="tests and residuals leave out the temperature",
        wakes="a temperature",
        seen_in="verification on logits before the processors",
        scheme=tests_from(_ORDERED_PAIR, raw),
        twin_sentence="they see the processed law, through the same detour",
        twin=tests_from(_ORDERED_PAIR, due),
        declared=Declaration(rule="without-replacement", proposal="without-replacement", processing=Temperature(HALF)),
        models=_COOLED,
        tokens=2,
    ),
    LawFault(
        name="penalty-ignores-the-tree",
        check="LAW-04",
        sentence="penalties count the committed tokens and not those of the path being verified",
        wakes="a token that repeats one of its own path",
        seen_in="SGLang's relaxed penalties",
        scheme=penalised(_ORDERED_PAIRS, tree_tokens_count=False),
        twin_sentence="tokens of the path count",
        twin=penalised(_ORDERED_PAIRS, tree_tokens_count=True),
        declared=Declaration(
            rule="without-replacement", proposal="without-replacement", processing=PresencePenalty(HALF)
        ),
        models=_PENALISED,
        tokens=2,
    ),
    LawFault(
        name="target-cut-to-draft-vocabulary",
        check="LAW-04",
        sentence="the target is renormalised over the draft's smaller vocabulary",
        wakes="a token that the draft cannot propose and the target can emit",
        seen_in="draft vocabularies mapped without their complement",
        scheme=through_first_tokens(_ORDERED_PAIR, 3),
        twin_sentence="it is cut to the whole vocabulary",
        twin=through_first_tokens(_ORDERED_PAIR, 4),
        declared=Declaration(rule="without-replacement", proposal="without-replacement"),
        models=_NARROW,
        draft_processing=FirstTokens(3),
    ),
    LawFault(
        name="coins-of-the-parent",
        check="LAW-01",
        sentence="every node of a path uses the same coins",
        wakes="two levels, judged together",
        seen_in="random numbers indexed by sibling and not by node",
        scheme=TreeScheme(CoinsByNode(multi_round, again=True), _INDEPENDENT, _PAIRS),
        twin_sentence="every node has coins of its own",
        twin=TreeScheme(CoinsByNode(multi_round, again=False), _INDEPENDENT, _PAIRS),
        declared=Declaration(rule="multi-round", proposal="independent"),
        models=_SMALL,
        tokens=2,
    ),
    _kept_noise("tests-kept", "the coins of acceptance tests are drawn once and used in every round", False, True),
    _kept_noise("draws-kept", "the noise of proposal and bonus is drawn once and used in every round", True, False),
    _kept_noise("all-noise-kept", "all noise is drawn once and used in every round", True, True),
    _kept_noise("second-noise-kept", "the noise of the second round is used again in every later one", True, True, 1),
    LawFault(
        name="text-after-its-end",
        check="LAW-04",
        sentence="a round is not cut behind an accepted end token: nodes below it and a bonus are emitted as if it were none",
        wakes="an end token inside a path",
        seen_in="end tokens that are looked for in the last token of a round alone",
        scheme=unended(_ORDERED_PAIRS, END, cut=False),
        twin_sentence="behind an end token there is nothing but the end token",
        twin=unended(_ORDERED_PAIRS, END, cut=True),
        declared=Declaration(rule="without-replacement", proposal="without-replacement", processing=EndsAt(END)),
        models=_ENDED,
        tokens=3,
    ),
    LawFault(
        name="raw-residual",
        check="LAW-04",
        sentence="tests see the law cut to its most probable tokens, and the residual after a rejection does not",
        wakes="a token that is cut off, and a rejection",
        seen_in="residuals taken from a copy of the logits that was made before the processors",
        scheme=residual_from(_ORDERED_PAIR, raw),
        twin_sentence="both see the processed law, through the same detour",
        twin=residual_from(_ORDERED_PAIR, due),
        declared=Declaration(rule="without-replacement", proposal="without-replacement", processing=TopK(2)),
        models=_CUT,
    ),
)
