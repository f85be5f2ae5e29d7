"""The state machine of eukaryotic genes (figure 5 of Chen et al. 2009), on one strand or both.

A coding base is at position 0, 1 or 2 of its codon, an intron after 0, 1 or 2 bases of one. States also
remember as much of a codon as tells a stop codon, through introns too, so that none can be in frame. Start
and stop codons are not split by introns. Genes of the other strand are read from their ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from Bio.Seq import reverse_complement

from structune.genes.eukaryotes.machine.machine import Edge, Gate, Jump, Lane, Machine, State

START, STOPS, ACCEPTOR = "ATG", ("TAA", "TAG", "TGA"), "AG"
INTERGENIC = "NC"
_NOT_T, _NOT_TC, _NOT_A, _NOT_AG = "ACGN", "AGN", "CGTN", "CTN"


def gene_machine(
    strands: str = "forward",
    donors: tuple[str, ...] = ("GT",),
    introns: tuple[int, int] = (4, 4),
    tie_introns: bool = True,
) -> Machine:
    """The machine of whole genes.

    Parameters
    ----------
    strands : {"forward", "both"}
    donors : tuple of str
        The first two bases of introns: "GT", "GC".
    introns : (int, int)
        The shortest intron, at least 4, and the longest whose length may have a score of its own; longer ones
        are worth as much by the base.
    tie_introns : bool
        Whether introns emit by the same weights after 0, 1 and 2 bases of a codon.
    """
    parts: list[_Strand] = [_Forward(tie_introns)]
    if strands == "both":
        parts.append(_Reverse(tie_introns))
    states = [State(INTERGENIC, INTERGENIC, "both" if strands == "both" else "+")]
    return Machine(
        states=tuple(states + [state for part in parts for state in part.states]),
        gates=tuple(gate for part in parts for gate in part.gates(donors)),
        edges=(
            Edge(INTERGENIC, INTERGENIC),
            *(edge for part in parts for edge in part.edges),
        ),
        jumps=tuple(jump for part in parts for jump in part.jumps),
        begins=INTERGENIC,
        ends=(INTERGENIC, *(part.last for part in parts)),
        lengths=introns,
    )


class _Strand(ABC):
    """States, edges and jumps of the genes of one strand."""

    sign: str
    last: str

    def __init__(self, tie_introns: bool) -> None:
        self.tie_introns = tie_introns
        self.states: list[State] = []
        self.edges: list[Edge] = []
        self.jumps: list[Jump] = []

    @staticmethod
    @abstractmethod
    def gates(donors: tuple[str, ...]) -> list[Gate]:
        """Those of the strand; `donors` are the first two bases of introns."""

    def state(self, name: str, label: str) -> str:
        name = f"{name}{self.sign}"
        self.states.append(State(name, label, self.sign))
        return name

    def edge(self, source: str, target: str, **options: str) -> None:
        self.edges.append(Edge(source, target, **options))

    def add_edges(self, ways: dict[str, dict[str, str]]) -> None:
        for source, targets in ways.items():
            for letters, target in targets.items():
                self.edge(source, target, letters=letters)

    def add_introns(
        self, opens: str, closes: str, after: dict[str, tuple[int, dict[str, str]]], name: str = ""
    ) -> None:
        """After some states introns: by how many bases of a codon these end, and where introns lead to."""
        lanes = []
        for source, (n_bases, targets) in after.items():
            inside = self.state(name or f"I{source[1:-1]}", "I" if self.tie_introns else f"I{n_bases}")
            weight = f"intron after {n_bases}"
            lanes.append(Lane(source, inside, targets, weight))
            self.edge(inside, inside)
            for letters, target in targets.items():
                self.edge(inside, target, letters=letters, gate=closes)
        alike = (
            [lanes]
            if self.tie_introns
            else [
                [lane for lane in lanes if lane.weight == weight]
                for weight in dict.fromkeys(a.weight for a in lanes)
            ]
        )
        self.jumps += [Jump(opens, closes, tuple(some)) for some in alike]


class _Forward(_Strand):
    """A codon is read as T or not; then as TA, TG or neither; and then it is whole, or a stop."""

    sign = "+"

    def __init__(self, tie_introns: bool) -> None:
        super().__init__(tie_introns)
        first, second = (self.state(f"B{k}", f"C{k}") for k in (0, 1))  # of the start codon
        t, other = (self.state(f"C0{name}", "C0") for name in ("T", ""))
        ta, tg, rest = (self.state(f"C1{name}", "C1") for name in ("TA", "TG", ""))
        whole, stop = self.state("C2", "C2"), self.state("E2", "C2")
        self.last = stop

        self.edge(INTERGENIC, first, weight="gene", gate="start+")
        self.edge(first, second)
        self.edge(second, whole)
        after_codon = {"T": t, _NOT_T: other}
        after_t, after_other = {"A": ta, "G": tg, _NOT_AG: rest}, {"ACGTN": rest}
        after_ta, after_tg, after_rest = {_NOT_AG: whole}, {_NOT_A: whole}, {"ACGTN": whole}
        ways = {
            whole: after_codon,
            t: after_t,
            other: after_other,
            ta: after_ta,
            tg: after_tg,
            rest: after_rest,
        }
        self.add_edges(ways)
        self.edge(ta, stop, gate="stop+")
        self.edge(tg, stop, gate="stop+")
        self.edge(stop, INTERGENIC)
        n_bases = {whole: 0, t: 1, other: 1, ta: 2, tg: 2, rest: 2}
        self.add_introns("donor+", "acceptor+", {s: (n_bases[s], ways[s]) for s in ways})

    @staticmethod
    def gates(donors: tuple[str, ...]) -> list[Gate]:
        return [
            Gate("start+", "+", (START,), 0, (("start", 0),)),
            Gate("stop+", "+", STOPS, -2, (("stop", 1),)),
            Gate("donor+", "+", donors, 0, (("donor", 0),)),
            Gate("acceptor+", "+", (ACCEPTOR,), -2, (("acceptor", 0),)),
        ]


class _Reverse(_Strand):
    """A codon is read backwards: as T, C or neither; then as the end of a stop codon or not; then whole."""

    sign = "-"

    def __init__(self, tie_introns: bool) -> None:
        super().__init__(tie_introns)
        stop2, stop1 = (self.state(f"E{k}", f"C{k}") for k in (2, 1))
        t, c, other = (self.state(f"C2{name}", "C2") for name in ("T", "C", ""))
        near, rest = (self.state(f"C1{name}", "C1") for name in ("stop", ""))
        whole = self.state("C0", "C0")
        start2, start1, start0 = (self.state(f"B{k}", f"C{k}") for k in (2, 1, 0))
        self.last = start0

        self.edge(INTERGENIC, stop2, weight="gene", gate="stop-")
        self.edge(stop2, stop1)
        self.edge(stop1, whole)
        ways = {
            whole: {"T": t, "C": c, _NOT_TC: other},
            t: {"TC": near, "AGN": rest},
            c: {"T": near, _NOT_T: rest},
            other: {"ACGTN": rest},
            near: {_NOT_A: whole},
            rest: {"ACGTN": whole},
        }
        self.add_edges(ways)
        self.edge(whole, start2, gate="start-")
        self.edge(start2, start1)
        self.edge(start1, start0)
        self.edge(start0, INTERGENIC)
        # a codon lacks the bases that are read later: they come before the intron of the gene
        n_bases = {whole: 0, t: 2, c: 2, other: 2, near: 1, rest: 1}
        self.add_introns("acceptor-", "donor-", {s: (n_bases[s], ways[s]) for s in ways})
        # a start codon that an intron follows: which codon comes is known before the intron
        self.add_introns("acceptor-", "start donor-", {whole: (0, {"C": start2})}, "IB")

    @staticmethod
    def gates(donors: tuple[str, ...]) -> list[Gate]:
        start, acceptor = reverse_complement(START), reverse_complement(ACCEPTOR)
        ends = tuple(map(reverse_complement, donors))
        return [
            Gate("start-", "-", (start,), 0, (("start", 3),)),
            Gate("stop-", "-", tuple(map(reverse_complement, STOPS)), 0, (("stop", 0),)),
            Gate("donor-", "-", ends, -2, (("donor", 0),)),
            Gate("acceptor-", "-", (acceptor,), 0, (("acceptor", 0),)),
            Gate(
                "start donor-", "-", tuple(f"{end}{start}" for end in ends), -2, (("donor", 0), ("start", 3))
            ),
        ]
