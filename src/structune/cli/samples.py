"""Small files to try the commands with, for `structune example`. All of them are simulated.

The same files come every time: the generator has a fixed seed. They are large enough that results look as
they do on real data, and small enough that every command ends within seconds.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structune.errors import DataError

Files = dict[str, str]  # texts by file name
_Rng = np.random.Generator


@dataclass(frozen=True)
class Sample:
    """What `structune example` writes for a type of model."""

    about: str  # what the files hold
    make: Callable[[_Rng], Files]
    commands: tuple[str, ...]  # to try next; {} is the folder


def write_sample(name: str, folder: Path) -> tuple[list[Path], list[str]]:
    """Write the files of a sample.

    Parameters
    ----------
    name : str
        A key of `SAMPLES`.
    folder : Path
        Created if it does not exist.

    Returns
    -------
    files : list of Path
    commands : list of str
        Command lines to try next.

    Raises
    ------
    DataError
        One of the files exists and holds something else.
    """
    sample = SAMPLES[name]
    files = {folder / file: text for file, text in sample.make(np.random.default_rng(0)).items()}
    for path, text in files.items():
        if path.exists() and path.read_text(errors="replace") != text:
            raise DataError(f"{path} exists with other content; choose another folder with --folder")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(files), [command.replace("{}", shlex.quote(str(folder))) for command in sample.commands]


# --- RNA --------------------------------------------------------------------------------------------------

_SHAPES = {
    "hairpin": "((((((((....))))))))",
    "bulge": "(((((..(((((.....)))))))))).",
    "internal-loop": "((((((...(((((....)))))...))))))",
    "cloverleaf": "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))....",
    "three-way": "((((((..(((((....)))))...((((((......))))))..))))))",
    "two-hairpins": "..((((((.....))))))....(((((((....))))))).",
}


def _rna(rng: _Rng) -> Files:
    def designed(structure: str) -> str:
        """A sequence whose paired bases are complementary, and whose loops are rich in A."""
        bases, opened = list(rng.choice(list("AGUC"), len(structure), p=[0.5, 0.2, 0.2, 0.1])), list[int]()
        for at, letter in enumerate(structure):
            if letter == "(":
                opened.append(at)
            elif letter == ")":
                pairs = ["GC", "CG", "AU", "UA", "GU"]
                bases[opened.pop()], bases[at] = list(rng.choice(pairs, p=[0.35, 0.35, 0.13, 0.13, 0.04]))
        return "".join(bases)

    def records(n: int, with_structures: bool) -> str:
        lines = []
        for k in range(1, n + 1):
            for name, structure in _SHAPES.items():
                lines += [f">{name}-{k}", designed(structure), *([structure] if with_structures else [])]
        return "\n".join(lines) + "\n"

    return {"rnas.fa": records(1, False), "train.dbn": records(12, True), "test.dbn": records(4, True)}


# --- tagging ----------------------------------------------------------------------------------------------

_STREETS = "Oak Maple Main Hill Park River Lake Church Mill King Queen Station Salem Dover Oxford New+Hill"
_WAYS = "Street St Avenue Ave Road Rd Lane Drive"
_CITIES = "Salem Dover Kingston Oxford Bristol Ashland Hill Park+Forest New+Salem Lake+City Fort+Hill"
_STATES = "CA NY TX OH WA MN GA"


def _tagging(rng: _Rng) -> Files:
    def pick(words: str) -> str:
        return str(rng.choice(words.split()))

    def address() -> list[tuple[str, str]]:
        """Tokens with labels; any part but street and city may be missing."""
        number = str(rng.integers(1, 2000)) + ("," if rng.random() < 0.1 else "")
        street = [*pick(_STREETS).split("+"), *([pick(_WAYS)] if rng.random() < 0.7 else [])]
        city = pick(_CITIES).split("+")
        parts = [
            ("number", [number] if rng.random() < 0.9 else []),
            ("street", street),
            ("unit", ["Apt", str(rng.integers(1, 40))] if rng.random() < 0.25 else []),
            ("city", city),
            ("state", [pick(_STATES)] if rng.random() < 0.8 else []),
            ("zip", [f"{rng.integers(10_000, 99_999)}"] if rng.random() < 0.7 else []),
        ]
        tokens = [(token, label) for label, tokens in parts for token in tokens]
        if rng.random() < 0.3:
            tokens = [(token.lower(), label) for token, label in tokens]
        return tokens

    def text(n: int, with_labels: bool) -> str:
        blocks = [
            "".join(f"{token}\t{label}\n" if with_labels else f"{token}\n" for token, label in address())
            for _ in range(n)
        ]
        return "\n".join(blocks)

    return {"train.txt": text(150, True), "test.txt": text(100, True), "new.txt": text(5, False)}


# --- alignment --------------------------------------------------------------------------------------------

_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
_FREQUENCIES = (83, 14, 55, 67, 39, 71, 23, 59, 58, 97, 24, 41, 47, 39, 55, 66, 53, 69, 11, 29)
_ALIKE = ("AGST", "DENQ", "KR", "ILMV", "FWY", "HNQ", "C", "P")  # what replaces what most often


def _alignment(rng: _Rng) -> Files:
    share = np.array(_FREQUENCIES) / sum(_FREQUENCIES)

    def draw(n: int) -> str:
        return "".join(rng.choice(list(_AMINO_ACIDS), n, p=share))

    def descend(parent: list[str]) -> list[str]:
        """The parent with substitutions and deletions, in the same columns."""
        child, at = list[str](), 0
        while at < len(parent):
            letter = parent[at]
            if rng.random() < 0.01:  # a deletion of some residues
                n = int(rng.geometric(0.35))
                child += ["-"] * len(parent[at : at + n])
                at += n
                continue
            if letter != "-" and rng.random() < 0.45:
                alike = next(group for group in _ALIKE if letter in group)
                letter = str(rng.choice(list(alike))) if rng.random() < 0.6 else draw(1)
            child.append(letter)
            at += 1
        return child

    ancestor = list(draw(110))
    members = [descend(descend(ancestor)) for _ in range(8)]
    names = [f"protein-{k}" for k in range(1, 9)]
    unaligned = "".join(f">{n}\n{''.join(m).replace('-', '')}\n" for n, m in zip(names, members, strict=True))
    true = "".join(f">{n}\n{''.join(m)}\n" for n, m in zip(names, members, strict=True))
    return {"family.fa": unaligned, "true/family.fa": true}


# --- genes ------------------------------------------------------------------------------------------------

# How often a bacterium like E. coli uses each codon, per thousand; bases in the order TCAG, the last fastest.
_CODONS = """22 16 14 13 10 9 9 9 18 12 0 0 5 6 0 14 12 10 4 48 8 5 9 21 13 9 15 28 20 20 4 6
    30 24 7 26 10 22 9 14 21 21 35 12 10 15 4 2 20 14 12 24 17 24 21 30 33 19 39 19 26 27 10 11"""
_COMPLEMENT = str.maketrans("ACGT", "TGCA")


def _genes(rng: _Rng) -> Files:
    shares = np.array(_CODONS.split(), dtype=np.float64)
    codons = [a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"]

    def noncoding(n: int) -> str:
        return "".join(rng.choice(list("ACGT"), n))

    genome, genes = noncoding(150), list[str]()
    for k in range(1, 26):
        inner = "".join(rng.choice(codons, int(rng.integers(90, 400)), p=shares / shares.sum()))
        stop = str(rng.choice(["TAA", "TGA", "TAG"], p=[0.64, 0.29, 0.07]))
        unit = "AGGAGG" + noncoding(int(rng.integers(6, 9))) + "ATG" + inner + stop
        length, strand = len("ATG" + inner + stop), "+" if rng.random() < 0.5 else "-"
        if strand == "-":
            unit = unit.translate(_COMPLEMENT)[::-1]
        start = len(genome) + 1 + (len(unit) - length if strand == "+" else 0)
        row = ["simulated", "structune", "CDS", start, start + length - 1, ".", strand, 0, f"ID=gene-{k}"]
        genes.append("\t".join(map(str, row)))
        genome += unit + noncoding(int(rng.integers(40, 200)))
    lines = [genome[at : at + 60] for at in range(0, len(genome), 60)]
    fasta = "\n".join([">simulated a piece of a bacterium that does not exist", *lines, ""])
    return {"bacterium.fa": fasta, "true.gff3": "\n".join(["##gff-version 3", *genes, ""])}


# --- ranking and classification ---------------------------------------------------------------------------


def _ranking(rng: _Rng) -> Files:
    weights = rng.normal(size=12) * ([1.0] * 4 + [0.1] * 8)

    def text(queries: range) -> str:
        lines = []
        for query in queries:
            rows = rng.normal(size=(int(rng.integers(8, 20)), weights.size))
            hidden = rows @ weights + rng.normal(size=len(rows))
            for row, grade in zip(rows, np.digitize(hidden, [0.5, 2.0]), strict=True):
                features = " ".join(f"{j}:{value:.3f}" for j, value in enumerate(row, 1))
                lines.append(f"{grade} qid:{query} {features}")
        return "\n".join(lines) + "\n"

    return {"train.txt": text(range(1, 61)), "test.txt": text(range(61, 101))}


def _classifier(rng: _Rng) -> Files:
    weights = rng.normal(size=30) * ([3.0] * 5 + [0.0] * 25)

    def text(n: int) -> str:
        rows = rng.normal(size=(n, weights.size))
        chance = 1.0 / (1.0 + np.exp(-(rows @ weights)))
        labels = np.where(rng.random(n) < chance, "+1", "-1")
        return "".join(
            f"{label} {' '.join(f'{j}:{value:.3f}' for j, value in enumerate(row, 1))}\n"
            for label, row in zip(labels, rows, strict=True)
        )

    return {"train.svm": text(120), "test.svm": text(500)}


SAMPLES: dict[str, Sample] = {
    "rna": Sample(
        "RNA sequences designed for six simple structures",
        _rna,
        (
            "structune fold {}/rnas.fa",
            "structune tune rna {}/train.dbn --model {}/rna.structune --test {}/test.dbn",
        ),
    ),
    "tagging": Sample(
        "made-up postal addresses, a token per line with its label",
        _tagging,
        (
            "structune tune tagging {}/train.txt --model {}/addresses.structune --test {}/test.txt",
            "structune predict {}/addresses.structune {}/new.txt",
        ),
    ),
    "alignment": Sample(
        "eight proteins simulated from one ancestor, and their true alignment",
        _alignment,
        ("structune align {}/family.fa", "structune evaluate alignment pretrained {}/true --multiple"),
    ),
    "genes": Sample(
        "a simulated piece of bacterial genome with 25 genes",
        _genes,
        (
            "structune genes {}/bacterium.fa > {}/predicted.gff3",
            "structune evaluate prokaryotic-genes {}/predicted.gff3 {}/true.gff3",
        ),
    ),
    "ranking": Sample(
        "simulated documents of 100 queries, with grades of relevance",
        _ranking,
        (
            "structune tune ranking {}/train.txt --model {}/ranker.structune --test {}/test.txt",
            "structune rank {}/ranker.structune {}/test.txt",
        ),
    ),
    "classifier": Sample(
        "two simulated classes in 30 features, of which five matter",
        _classifier,
        (
            "structune tune classifier {}/train.svm --model {}/classifier.structune --test {}/test.svm",
            "structune predict {}/classifier.structune {}/test.svm",
        ),
    ),
}
