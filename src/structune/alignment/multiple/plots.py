"""The guide tree of a multiple alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy

from structune.alignment.multiple.alignment import MultipleAlignment
from structune.alignment.multiple.progressive import Tree
from structune.errors import DataError
from structune.plots.figure import ACCENT, LABEL_SIZE, Path, finish, height_for, new_figure, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMES, _LONGEST_NAME = 120, 40
_LEAST = 1e-9  # distance: all the same would be an axis of one place


def plot_guide_tree(
    alignment: MultipleAlignment, names: Sequence[str] | None = None, path: Path = None
) -> Figure:
    """The tree along which groups of sequences were aligned.

    Parameters
    ----------
    alignment : MultipleAlignment
        Of two sequences at least.
    names : sequence of str, optional
        Of the sequences; by default their numbers, from 1. Those of more than 120 are left out.
    path : path, optional
        Where to save the figure; the ending tells the format.

    Returns
    -------
    matplotlib.figure.Figure
        For pyplot to show, if there is no path.

    Raises
    ------
    StructuneError
        matplotlib is not installed, there is one sequence only, or another number of names.
    """
    n = len(alignment)
    if n < 2:
        raise DataError(f"found {n} sequences, expected at least two for a tree")
    names = [str(k + 1) for k in range(n)] if names is None else names
    if len(names) != n:
        raise DataError(f"found {len(names)} names for {n} sequences")
    shown = n <= _MOST_NAMES
    figure = new_figure(path, 7.0, height_for(n, 2.0) if shown else 9.0)
    axes = figure.subplots()
    leaves = _draw(axes, alignment.tree)
    if shown:
        axes.set_yticks(range(n), [shortened(names[k], _LONGEST_NAME) for k in leaves], fontsize=LABEL_SIZE)
    else:
        axes.set_yticks([])
    axes.yaxis.tick_right()
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_xlabel("distance: 1 - expected share of right matches, or of words in common")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finish(figure, path)


def _draw(axes: Axes, tree: Tree) -> list[int]:
    """Lines from each merge to both of its groups; returns the leaves from below (SciPy limits the depth)."""
    from matplotlib.collections import LineCollection

    n = len(tree) + 1
    leaves: list[int] = scipy.cluster.hierarchy.leaves_list(tree).tolist()
    place, distance, lines = np.empty(2 * n - 1), np.zeros(2 * n - 1), []
    place[leaves] = np.arange(n)
    for k, (a, b, away, _) in enumerate(tree.tolist(), n):
        ends, groups = (place[int(a)], place[int(b)]), (distance[int(a)], distance[int(b)])
        place[k], distance[k] = np.mean(ends), away
        lines.append([(groups[0], ends[0]), (away, ends[0]), (away, ends[1]), (groups[1], ends[1])])
    axes.add_collection(LineCollection(lines, colors=ACCENT))
    axes.set(xlim=(max(distance[-1], _LEAST) * 1.05, 0.0), ylim=(-0.5, n - 0.5))
    return leaves
