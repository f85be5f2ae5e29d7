"""Weights of a tagger as tables, like those of eli5."""

from __future__ import annotations

from collections import Counter, defaultdict
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from structune.cli.terminal import filled, new_table
from structune.learning.parameters import Range, check_number


class WeightTables(list[Table]):
    """Tables that `print` shows as text, and notebooks in colors."""

    def _recorded(self) -> Console:
        console = Console(
            file=StringIO(), record=True, width=1 << 16, markup=False, emoji=False, highlight=False
        )
        for table in self:
            console.print(table)
        return console

    def __repr__(self) -> str:
        return "\n".join(map(str.rstrip, self._recorded().export_text().splitlines()))

    def _repr_html_(self) -> str:
        return self._recorded().export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def show_weights(model: Any, top: int = 20) -> WeightTables:
    """Return the weights of a fitted tagger as tables, as ``eli5.show_weights`` does for sklearn-crfsuite.

    Notebooks show the tables in colors, `print` shows them as text.

    Parameters
    ----------
    model : CRF, SequenceTagger or SegmentTagger
        Fitted model.
    top : int
        Number of attributes to show for each label, and of trigrams of a model of order 2: those with the
        largest absolute weights.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    check_number("top", top, Range(1, whole=True))
    moves, parts = model.transition_features_, defaultdict[str, list[tuple[float, str]]](list)
    for names, weight in getattr(model, "trigram_features_", {}).items():
        parts["Trigrams"].append((weight, " -> ".join(map(_named, names))))
    by_label = sorted(model.state_features_.items(), key=lambda item: _order(item[0][1]))
    for (name, label), weight in by_label:
        parts[f"y = {label}"].append((weight, name))
    weights = [*moves.values(), *(weight for part in parts.values() for weight, _ in part)]
    most = max(map(abs, weights), default=0.0) or 1.0

    def cell(weight: float | None) -> Text:
        if weight is None:
            return Text("")
        pale = 255 - round(150 * min(abs(weight) / most, 1.0))
        color = f"{pale},255,{pale}" if weight > 0 else f"255,{pale},{pale}"
        return Text(f"{weight:+.3f}", style=f"black on rgb({color})")

    first, second = (sorted({pair[k] for pair in moves}, key=_order) for k in (0, 1))
    rows: list[list[Any]] = [[_named(a), *(cell(moves.get((a, b))) for b in second)] for a in first]
    tables = WeightTables([filled(new_table("Transitions", ["from / to", *map(_named, second)], []), rows)])
    for title, pairs in parts.items():
        falling = sorted(pairs, reverse=True)
        shown = sorted(sorted(falling, key=lambda pair: -abs(pair[0]))[:top], reverse=True)
        rows, at = [[cell(weight), name] for weight, name in shown], sum(weight > 0 for weight, _ in shown)
        more = Counter(weight > 0 for weight, _ in falling)
        more.subtract(weight > 0 for weight, _ in shown)
        signs = (("positive", more[True]), ("negative", more[False]))
        rows[at:at] = [[Text(""), f"... {n:,} more {sign} ..."] for sign, n in signs if n]
        tables.append(
            filled(new_table(title, ["weight", "labels" if title == "Trigrams" else "attribute"], []), rows)
        )
    return tables


def _named(label: Any) -> str:
    return "(none)" if label is None else str(label)  # before the first label, and after the last


def _order(label: Any) -> tuple[str, str]:
    """Labels of one segment type stand side by side, after those without a type."""
    return _named(label).partition("-")[2], _named(label)
