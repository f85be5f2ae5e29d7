"""Which weights made a sequence tagger choose its labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from structune.errors import DataError
from structune.tagging.structure.shard import find_keys

_HEADER = ("token", "label", "probability", "runner-up", "its probability", "difference", "contributions")


class Contribution(NamedTuple):
    """What an attribute or a transition adds to the difference of two scores; ``*`` is the token's label."""

    name: str
    value: float


@dataclass(frozen=True)
class TokenExplanation:
    """Why a token has its label and not the runner-up.

    The runner-up has the next highest score if all other tokens keep their predicted labels; it is None if
    no other label is allowed. Probabilities are None for models without them. `contributions` are those that
    are not 0, the largest absolute values first. They add up to the difference of the two scores.
    `n_unknown` counts attributes that the model does not know.
    """

    label: Any
    probability: float | None
    runner_up: Any
    runner_up_probability: float | None
    contributions: list[Contribution]
    n_unknown: int

    @property
    def difference(self) -> float:
        """Sum of the contributions."""
        return sum(each.value for each in self.contributions)


class Explanation(list[TokenExplanation]):
    """Explanations of all tokens of a sequence, which are shown as a table."""

    def _rows(self, words: Sequence[str] | None = None, top: int = 3) -> Iterator[tuple[str, ...]]:
        for t, one in enumerate(self):
            p, q = ("" if p is None else f"{p:.3f}" for p in (one.probability, one.runner_up_probability))
            told = [f"{name} {value:+.2f}" for name, value in one.contributions[:top]]
            if rest := [part.value for part in one.contributions[top:]]:
                told.append(f"{len(rest)} more {sum(rest):+.2f}")
            told += [f"{one.n_unknown} unknown"] if one.n_unknown else []
            other = "" if one.runner_up is None else str(one.runner_up)
            first = str(t) if words is None else words[t]
            yield first, str(one.label), p, other, q, f"{one.difference:+.2f}", ", ".join(told)

    def text(self, words: Sequence[str] | None = None, top: int = 3) -> str:
        """Return a table as text, with `top` contributions, and with words in place of token numbers."""
        if words is not None and len(words) != len(self):
            raise DataError(f"there are {len(words)} words, but {len(self)} tokens: give one word per token")
        rows = [_HEADER, *self._rows(words, top)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    __repr__ = __str__ = text

    def _repr_html_(self) -> str:
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in (_HEADER, *self._rows()))
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def explain(tagger: Any, X: Any) -> Explanation:
    """Explain the predicted labels of the one sequence in `X`."""
    tagger._check_fitted()
    chain, w, found = tagger._predicting, tagger.coef_, Explanation()
    rows = tagger._known_rows(X)
    if rows.lengths.size != 1:
        raise DataError(f"explain needs one sequence, such as X[0], but there are {rows.lengths.size}")
    if not rows.lengths[0]:
        return found
    shard = chain.encode(rows)
    best = chain.best(w, shard)[0].tolist()
    _, scores = chain._scores_of(chain._under(w, shard), slice(0, 1))
    shares = chain.marginals(w, shard) if tagger.has_probabilities else None
    around = [None, *(chain.labels[y] for y in best), None]
    weights = {2: tagger.transition_features_, 3: tagger.trigram_features_}
    follows, starts, ends = chain.moves
    for t, y in enumerate(best):
        moves = [[*_moves(around, t + 1, label, weights)] for label in chain.labels]
        total = scores[t] + [sum(value for _, value in each) for each in moves]
        total[~(follows[best[t - 1]] if t else starts)] = -np.inf
        total[~(follows[:, best[t + 1]] if t + 1 < len(best) else ends)] = -np.inf
        total[y] = -np.inf
        other = int(total.argmax())
        p, q = (None if shares is None else float(shares[t, k]) for k in (y, other))
        part = slice(rows.indptr[t], rows.indptr[t + 1])
        columns, values = np.asarray(rows.columns[part], dtype=np.int64), rows.values
        known = columns >= 0
        n_unknown = int(np.count_nonzero(~known))
        if total[other] == -np.inf:
            found.append(TokenExplanation(around[t + 1], p, None, None, [], n_unknown))
            continue
        at = [find_keys(chain.pairs.keys, columns[known] * chain.n_labels + k) for k in (y, other)]
        own, others = (np.where(k >= 0, w[k], 0.0) for k in at)
        gains = (own - others) * (1.0 if values is None else values[part][known])
        names = (chain.attributes[a] for a in columns[known].tolist())
        parts = [*zip(names, gains.tolist(), strict=True)]
        parts += [(name, a - b) for (name, a), (_, b) in zip(moves[y], moves[other], strict=True)]
        parts = sorted((each for each in parts if each[1]), key=lambda each: -abs(each[1]))
        told = [Contribution(*each) for each in parts]
        found.append(TokenExplanation(around[t + 1], p, chain.labels[other], q, told, n_unknown))
    return found


def _moves(around: Sequence[Any], at: int, label: Any, weights: Any) -> Iterator[tuple[str, float]]:
    """Names and weights of the start, end, transitions and trigrams with a label at one place."""
    changed = [*around[:at], label, *around[at + 1 :]]
    for size, table in weights.items():
        for first in range(max(at + 1 - size, 0), min(at, len(around) - size) + 1) if table else ():
            names = [
                "*" if k == at else str(around[k]) if around[k] is not None else "(end)" if k else "(start)"
                for k in range(first, first + size)
            ]
            yield " -> ".join(names), table.get(tuple(changed[first : first + size]), 0.0)
