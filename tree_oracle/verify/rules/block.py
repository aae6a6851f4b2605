"""R9, block verification of a chain (Sun et al.): all drafts are judged together, from the last one backwards.

    P_0 = 1,  P_i = min(1, P_{i-1} p_i(x_i) / q_i(x_i));  S_i = sum_x (P_i p(x) - q(x))_+ with the laws after x_1..x_i
    h_n = P_n,  h_i = S_i / (S_i + 1 - P_i);   tau = the largest i whose own coin is below h_i, else 0
    draw from norm((P_tau p - q)_+) for tau < n, from p for tau = n

Exact if the chain was drawn from q. It accepts at least as many tokens as R2 does, on average. Its residual is *scaled* by
P_tau: without the scale one round emits a right first token and a wrong pair, so block rules are judged on joint laws.
"""

from __future__ import annotations

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Number, ratio
from tree_oracle.verify.rules.protocol import ROOT, DraftTree, Outcome


def block(coin: Coin, tree: DraftTree) -> Outcome:
    """See the module.

    Raises:
        UsageError: a node has more than one child.
    """
    chain = chain_of(tree)
    weights = path_weights(tree, chain)
    if coin.accept(weights[-1]):
        return Outcome(tuple(chain[1:]), tree.target(chain[-1]))
    for length in reversed(range(len(chain) - 1)):
        node, weight = chain[length], weights[length]
        mass, residual = tree.target(node).excess(tree.draft(node), weight)
        if node == ROOT or coin.accept(kept_weight(mass, weight)):
            return Outcome(tuple(chain[1 : length + 1]), residual)
    raise AssertionError("the root is always reached")


def chain_of(tree: DraftTree) -> list[int]:
    """The nodes of a tree that is a chain, the root first.

    Raises:
        UsageError: a node has more than one child.
    """
    chain = [ROOT]
    while children := tree.children(chain[-1]):
        if len(children) > 1:
            raise UsageError(
                f"block verification was given {len(children)} siblings after node {chain[-1]}; expected a chain"
            )
        chain.append(children[0])
    return chain


def path_weights(tree: DraftTree, path: list[int]) -> list[Number]:
    """P for each node of a path from the root, the root's 1 included."""
    weights: list[Number] = [1]
    for parent, node in zip(path, path[1:], strict=False):
        token = tree.token(node)
        weights.append(ratio(weights[-1] * tree.target(parent)[token], tree.draft(parent)[token]))
    return weights


def kept_weight(mass: Number, weight: Number) -> Number:
    """S / (S + 1 - P); 0 where both S and 1 - P are 0, which a draw from q never reaches."""
    rest = mass + 1 - weight
    return mass / rest if rest else mass
