"""What a state machine over nucleotides is made of, and its tables as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structune.genes.eukaryotes.kernels.sums import BOTH, FORWARD, REVERSE, Graph
from structune.genes.nucleotides import LETTERS

_READS = {"+": FORWARD, "-": REVERSE, "both": BOTH}


@dataclass(frozen=True)
class State:
    """A state; `label` says by which weights it emits, `strand` ("+", "-", "both") which words it reads."""

    name: str
    label: str
    strand: str = "+"


@dataclass(frozen=True)
class Gate:
    """Where something may happen: before position t, if one of `motifs` begins at t + `at`.

    The weights of a signal look at the words around the place t + p, for each (signal, p) of `signals`, on
    the strand.
    """

    name: str
    strand: str
    motifs: tuple[str, ...]
    at: int
    signals: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Edge:
    """From the state of a position to that of the next one, if its letter and a gate permit it.

    One with a gate may have a weight, by this name.
    """

    source: str
    target: str
    weight: str = ""
    letters: str = LETTERS
    gate: str = ""


@dataclass(frozen=True)
class Lane:
    """One way through a jump: `targets`, by the letters there, and `inside`, the state of its positions."""

    source: str
    inside: str
    targets: dict[str, str]
    weight: str


@dataclass(frozen=True)
class Jump:
    """A segment whose length is scored: it begins where a gate is open and ends before one that is.

    A lane's source comes before the segment, its target after it.
    """

    opens: str
    closes: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Machine:
    """States, and how one may follow another.

    Parameters
    ----------
    states, gates, edges, jumps
    begins : str
        The state that the first position follows.
    ends : tuple of str
        Those of the last position.
    lengths : (int, int)
        Of jumps: the shortest, and the longest whose length has a score of its own.
    """

    states: tuple[State, ...]
    gates: tuple[Gate, ...]
    edges: tuple[Edge, ...]
    jumps: tuple[Jump, ...]
    begins: str
    ends: tuple[str, ...]
    lengths: tuple[int, int]

    def __post_init__(self) -> None:
        """Order the states by their columns, as kernels go through them."""
        columns = self.columns
        ordered = sorted(self.states, key=lambda state: columns.index((state.label, state.strand)))
        object.__setattr__(self, "states", tuple(ordered))

    @cached_property
    def state_column(self) -> np.ndarray:
        """The column of each state."""
        return _ints([self.columns.index((state.label, state.strand)) for state in self.states])

    @cached_property
    def state_id(self) -> dict[str, int]:
        return {state.name: s for s, state in enumerate(self.states)}

    @cached_property
    def labels(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(state.label for state in self.states))

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """The distinct (label, strand) of states."""
        return list(dict.fromkeys((state.label, state.strand) for state in self.states))

    @cached_property
    def edge_weights(self) -> list[str]:
        """Names of the weights of edges and lanes; those without one count after the last."""
        lanes = (lane.weight for jump in self.jumps for lane in jump.lanes)
        return list(dict.fromkeys(name for name in (*(e.weight for e in self.edges), *lanes) if name))

    def _weight_id(self, name: str) -> int:
        return self.edge_weights.index(name) if name else len(self.edge_weights)

    @cached_property
    def graph(self) -> Graph:
        """As the kernels read it."""
        states = self.state_column
        labels = [self.labels.index(label) for label, _ in self.columns]
        lanes = [lane for jump in self.jumps for lane in jump.lanes]
        inside = [self.state_id[lane.inside] for lane in lanes]
        lane_of = np.full(len(self.states), -1)
        lane_of[inside] = np.arange(len(lanes))
        return Graph(
            column_first=np.searchsorted(states, np.arange(len(self.columns) + 1)),
            label=_ints(labels),
            reads=_ints([_READS[strand] for _, strand in self.columns]),
            **self._plain_edges(),
            **self._gated_edges(),
            jump_open=_ints([self._gate_id(jump.opens) for jump in self.jumps]),
            jump_close=_ints([self._gate_id(jump.closes) for jump in self.jumps]),
            jump_column=_ints([states[self.state_id[jump.lanes[0].inside]] for jump in self.jumps]),
            jump_first=np.cumsum([0] + [len(jump.lanes) for jump in self.jumps]),
            lane_source=_ints([self.state_id[lane.source] for lane in lanes]),
            lane_target=self._targets(lanes),
            lane_inside=_ints(inside),
            lane_weight=_ints([self._weight_id(lane.weight) for lane in lanes]),
            lane_of=lane_of,
            shortest=self.lengths[0],
            longest=self.lengths[1],
            begins=self.state_id[self.begins],
            ends=_ints([self.state_id[name] for name in self.ends]),
        )

    def _gate_id(self, name: str) -> int:
        return [gate.name for gate in self.gates].index(name)

    def _plain_edges(self) -> dict[str, np.ndarray]:
        """An edge is listed once for each letter."""
        listed = [[e for e in self.edges if not e.gate and letter in e.letters] for letter in LETTERS]
        return {
            "edge_first": np.cumsum([0] + [len(edges) for edges in listed]),
            "source": _ints([self.state_id[e.source] for edges in listed for e in edges]),
            "target": _ints([self.state_id[e.target] for edges in listed for e in edges]),
        }

    def _gated_edges(self) -> dict[str, np.ndarray]:
        listed = [[e for e in self.edges if e.gate == gate.name] for gate in self.gates]
        edges = [e for some in listed for e in some]
        return {
            "gated_first": np.cumsum([0] + [len(some) for some in listed]),
            "gated_letters": _ints([sum(1 << LETTERS.index(a) for a in e.letters) for e in edges]),
            "gated_source": _ints([self.state_id[e.source] for e in edges]),
            "gated_target": _ints([self.state_id[e.target] for e in edges]),
            "gated_weight": _ints([self._weight_id(e.weight) for e in edges]),
        }

    def _targets(self, lanes: Sequence[Lane]) -> np.ndarray:
        table = np.full((len(lanes), len(LETTERS)), -1)
        for k, lane in enumerate(lanes):
            for letters, target in lane.targets.items():
                for letter in letters:
                    table[k, LETTERS.index(letter)] = self.state_id[target]
        return table


def _ints(values: Sequence[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)
