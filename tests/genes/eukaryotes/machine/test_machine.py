"""The tables of a machine, as kernels read them."""

import numpy as np
import pytest

from structune.genes.eukaryotes.machine.machine import Edge, Gate, Machine, State
from structune.genes.eukaryotes.structure.gene_machine import gene_machine
from structune.genes.nucleotides import LETTERS


def test_states_are_ordered_by_column():
    for strands in ("forward", "both"):
        machine = gene_machine(strands, tie_introns=False)
        assert np.all(np.diff(machine.state_column) >= 0)
        assert machine.graph.column_first.tolist() == [
            *np.searchsorted(machine.state_column, range(len(machine.columns))),
            len(machine.states),
        ]
        assert [machine.states[s].name for s in machine.state_id.values()] == list(machine.state_id)


def test_edges():
    machine = Machine(
        states=(State("a", "x"), State("b", "y", "-"), State("c", "x")),
        gates=(Gate("g", "+", ("AC",), 0, ()),),
        edges=(
            Edge("a", "b", letters="AN"),
            Edge("b", "a", letters="C"),
            Edge("a", "c", weight="w", gate="g", letters="T"),
        ),
        jumps=(),
        begins="a",
        ends=("c",),
        lengths=(4, 4),
    )
    assert [state.name for state in machine.states] == ["a", "c", "b"]
    assert (machine.labels, machine.columns) == (["x", "y"], [("x", "+"), ("y", "-")])
    graph, place = machine.graph, machine.state_id
    listed = {
        letter: list(zip(graph.source[a:b].tolist(), graph.target[a:b].tolist(), strict=True))
        for letter, a, b in zip(LETTERS, graph.edge_first, graph.edge_first[1:], strict=False)
    }
    a_to_b, b_to_a = (place["a"], place["b"]), (place["b"], place["a"])
    assert listed == {"A": [a_to_b], "C": [b_to_a], "G": [], "T": [], "N": [a_to_b]}
    assert graph.gated_letters.tolist() == [1 << LETTERS.index("T")]
    assert (machine.edge_weights, graph.gated_weight.tolist()) == (["w"], [0])


@pytest.mark.parametrize("tied", [True, False])
def test_strands_of_the_gene_machine(tied):
    forward, both = gene_machine("forward", tie_introns=tied), gene_machine("both", tie_introns=tied)
    assert {state.strand for state in forward.states} == {"+"}
    assert {state.strand for state in both.states} == {"+", "-", "both"}
    assert both.labels == forward.labels
    assert both.edge_weights == forward.edge_weights
    assert len(both.jumps) > len(forward.jumps)
