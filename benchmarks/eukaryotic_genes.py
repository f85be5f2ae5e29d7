"""Genes with introns, beside AUGUSTUS: both trained on the same windows, and run on the same others.

    python benchmarks/eukaryotic_genes.py                       all sets, splits and methods
    python benchmarks/eukaryotic_genes.py --sets fly            some of the sets
    python benchmarks/eukaryotic_genes.py --methods AUGUSTUS    some of the methods: ours takes the time
    python benchmarks/eukaryotic_genes.py --quick               20 genes of each, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout), and AUGUSTUS: ``apt install
augustus augustus-data``; without it, only our methods run. All takes an hour, of which most is tuning;
AUGUSTUS takes a minute.

Windows hold one annotated gene: the given split of the fly, 392 to train and 100 to test, and three random
splits of
A. thaliana and of C. elegans, as in `gene_prediction.py`. Flanks of fly windows may hold genes that are not
annotated: scores are for whole windows, and for the annotated gene with 500 bases around it. Intervals are
paired bootstraps over the test windows of all splits, as if no window came twice. All run on one thread.

"structune" is `GeneFinder` without tuning, but that its center is what the two other organisms have in
common, as `training/eukaryotes.py` has it of three, and "no center" without one, also with
``tuning="implicit"``. "Counted again" is after a round of `adapt` on all sequences of the organism, whose
genes it is not told (of the fly all windows). "Not annotated" has learned no gene of the organism: what the
others have in common is adapted to those sequences; "training" is the time of that. What is in common, and
when adapting ends, was chosen on these organisms.

"hints" has junctions of reads besides, which are simulated: seven of ten true introns, with 1 to 39 reads,
and three false ones for ten of those, from a GT to an AG 40 to 600 bases behind it on the forward strand,
with 1 to 3 reads. AUGUSTUS has the weights that come with it, by which any junction is nearly sure. Ours
(``hint_weight``) was chosen on a split of two of the organisms.

AUGUSTUS is retrained as its documentation says: ``etraining`` once, from the parameters of its "generic"
species, where ``new_species.pl`` begins too; ``optimize_augustus.pl`` did not run. Stop codons are part of
the CDS. "as published" is this and no more, with incomplete genes at the ends of windows: version 3.5.0 gives
what the description of the fly data says of AUGUSTUS, retrained (``PUBLISHED``), to the digit. "AUGUSTUS" has
``--genemodel=complete``, as our genes are complete: the best on the 100, and in four folds of the 392 better
than "as published" and as good as ``atleastone`` but for a point, which knows that all windows have genes.
"stop codons" has besides the probabilities of stop codons that ``etraining`` counts, to no avail.
``--sample=0`` leaves out posterior probabilities, which take most of the time; genes are the same. A run goes
on where the results end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections import defaultdict
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from common import folder_for, parser_of
from gene_prediction import MARGIN, SETS, SPLITS, Run, Windows, levels, log, packed, scores, splits, text
from structune import GeneFinder, adapt
from structune.genes import (
    AnnotatedSequence,
    Hint,
    Transcript,
    gene_difference,
    gene_regions,
    gene_scores,
)
from structune.learning import ImplicitTuner

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from eukaryotes import examples, in_common

NAME = "eukaryotic_genes"
METHODS: dict[str, dict[str, Any]] = {
    "structune": {},
    "structune, counted again": {},
    "structune, not annotated": {},
    "structune, hints": {},
    "structune, no center": {"center": None},
    "structune, no center, tuned": {"center": None, "tuning": "implicit", "cv": 0.2},
}
AGAIN, NOT_ANNOTATED, HINTED = list(METHODS)[1:4]
PEERS: dict[str, dict[str, Any]] = {
    "AUGUSTUS": {"genemodel": "complete"},
    "AUGUSTUS, stop codons": {"genemodel": "complete", "stops": True},
    "AUGUSTUS, as published": {"genemodel": "partial"},
    "AUGUSTUS, hints": {"genemodel": "complete", "hints": True},
}
OF_HINTS = "extrinsic.M.RM.E.W.cfg"  # of AUGUSTUS, as it comes
SHARE, FALSE, READS, FALSE_READS = 0.7, 0.3, 40, 4
ALL = (*METHODS, *PEERS)
PUBLISHED = {"nucleotide": (0.87, 0.63), "exon": (0.70, 0.48), "gene": (0.47, 0.30)}  # fly, whole windows
PROGRAMS = ("augustus", "etraining")
SPECIES = "generic"
STOPS = {"amber": "tag", "ochre": "taa", "opal": "tga"}
WHERE = ("windows", "margin")
MOST_QUICKLY = 20
Found = dict[str, list[Transcript]]


# --- AUGUSTUS ---------------------------------------------------------------------------------------------


def is_installed() -> bool:
    return all(map(shutil.which, PROGRAMS))


def config() -> Path:
    """Its folder of parameters: as told, or of Debian, or beside the program."""
    program = Path(shutil.which(PROGRAMS[0]) or "").resolve()
    told = os.environ.get("AUGUSTUS_CONFIG_PATH", "/usr/share/augustus/config")
    places = [Path(told), program.parents[1] / "config"]
    return next(place for place in places if (place / "species" / SPECIES).is_dir())


def copy_config(target: Path) -> None:
    """All of it, but one species."""

    def others(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name != SPECIES] if Path(folder).name == "species" else []

    shutil.copytree(config(), target, ignore=others)


def augustus(train: Windows, test: Windows, settings: dict[str, Any]) -> tuple[Found, float, float]:
    """Genes, and the seconds of training and of prediction."""
    with tempfile.TemporaryDirectory(prefix="augustus") as name:
        folder = Path(name)
        copy_config(folder / "config")
        (folder / "train.gb").write_text("".join(map(genbank, train)))
        (folder / "test.fa").write_text("".join(f">{w.name}\n{w.sequence}\n" for w in test))
        begin = time.perf_counter()
        learned = called(folder, "etraining", "train.gb")
        trained = time.perf_counter()
        options = ["--UTR=off", "--sample=0", f"--genemodel={settings['genemodel']}"]
        options += stop_codons(learned) if settings.get("stops") else []
        if settings.get("hints"):
            write_hints(folder / "hints.gff", test)
            options += ["--hintsfile=hints.gff", f"--extrinsicCfgFile={OF_HINTS}"]
        predicted = called(folder, "augustus", *options, "test.fa")
        end = time.perf_counter()
    return genes_of(predicted, test), trained - begin, end - trained


def called(folder: Path, program: str, *arguments: str) -> str:
    """What it prints."""
    environment = {**os.environ, "AUGUSTUS_CONFIG_PATH": str(folder / "config")}
    command = [program, f"--species={SPECIES}", "--stopCodonExcludedFromCDS=false", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return done.stdout


def stop_codons(learned: str) -> list[str]:
    """Their frequencies, as options."""
    found = {name: re.search(rf"^{codon}:.*\((.*)\)", learned, re.MULTILINE) for name, codon in STOPS.items()}
    return [f"--/Constant/{name}prob={frequency[1]}" for name, frequency in found.items() if frequency]


def genbank(w: AnnotatedSequence) -> str:
    """A window with its gene, as etraining wants it."""
    sequence, n = w.sequence.lower(), len(w.sequence)
    counts = " ".join(f"{sequence.count(base)} {base}" for base in "acgt")
    rows = (
        f"{k + 1:9d} " + " ".join(sequence[j : j + 10] for j in range(k, min(k + 60, n), 10))
        for k in range(0, n, 60)
    )
    head = [f"LOCUS       {w.name} {n} bp DNA", "FEATURES             Location/Qualifiers"]
    features = [f"     source          1..{n}", *map(cds, w.transcripts)]
    return "\n".join([*head, *features, f"BASE COUNT     {counts}", "ORIGIN", *rows, "//\n"])


def cds(t: Transcript) -> str:
    parts = ",".join(f"{a + 1}..{b}" for a, b in t.exons)
    place = f"join({parts})" if len(t.exons) > 1 else parts
    place = place if t.strand == "+" else f"complement({place})"
    return f'     CDS             {place}\n                     /gene="{t.gene}"'


def genes_of(gtf: str, test: Windows) -> Found:
    """Incomplete ones too, which `read_gtf` leaves out."""
    parts: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for line in gtf.splitlines():
        if "\tCDS\t" in line:
            contig, _, _, start, end, _, strand, _, names = line.split("\t")
            parts[contig, strand, *names.split('"')[1:4:2]].append((int(start) - 1, int(end)))
    found: Found = {w.name: [] for w in test}
    for (contig, strand, name, gene), exons in parts.items():
        found[contig].append(Transcript(contig, strand, tuple(sorted(exons)), name, gene))
    return found


@cache
def version() -> str:
    done = subprocess.run([PROGRAMS[0], "--version"], capture_output=True, encoding="utf-8")
    number = re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)
    return number[0] if number else "unknown"


# --- hints ------------------------------------------------------------------------------------------------


def junctions(w: AnnotatedSequence) -> list[Hint]:
    """Simulated ones of a window, always the same."""
    rng = np.random.default_rng(zlib.crc32(w.name.encode()))
    true = [(a, b, t.strand) for t in w.transcripts for a, b in t.introns if rng.random() < SHARE]
    found = [Hint(w.name, "intron", *intron, float(rng.integers(1, READS))) for intron in true]
    donors, acceptors = ([m.start() for m in re.finditer(motif, w.sequence)] for motif in ("GT", "AG"))
    for donor in rng.choice(donors, rng.poisson(FALSE * max(1, len(found)))).tolist():
        ends = [a + 2 for a in acceptors if 40 < a + 2 - donor < 600]
        if ends:
            reads = float(rng.integers(1, FALSE_READS))
            found.append(Hint(w.name, "intron", donor, int(rng.choice(ends)), "+", reads))
    return found


def write_hints(path: Path, test: Windows) -> None:
    lines = (
        f"{w.name}\tb2h\tintron\t{h.start + 1}\t{h.end}\t0\t{h.strand}\t.\tmult={h.support:.0f};pri=4;src=E\n"
        for w in test
        for h in junctions(w)
    )
    path.write_text("".join(lines))


# --- ours -------------------------------------------------------------------------------------------------


def ours(name: str, train: Windows, test: Windows, method: str) -> tuple[Found, float, float]:
    """Genes, and the seconds of training and of prediction."""
    others = None if "center" in METHODS[method] else of_others(name)
    begin = time.perf_counter()
    if method == NOT_ANNOTATED:
        finder = adapt(others, sequences(name))
    else:
        finder = fitted(train, **{"center": others, **METHODS[method]})
        finder = adapt(finder, sequences(name), 1) if method == AGAIN else finder
    trained = time.perf_counter()
    finder = copy(finder).set_params(closed=True)  # windows begin and end between genes
    found = finder.predict(test, hints=[junctions(w) for w in test] if method == HINTED else None)
    end = time.perf_counter()
    genes = {w.name: list(of) for w, of in zip(test, found, strict=True)}
    return genes, trained - begin, end - trained


def fitted(known: Windows, **settings: Any) -> GeneFinder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GeneFinder(**{"tuning": None, **settings}, n_jobs=1).fit(known)


@cache
def sequences(name: str) -> list[str]:
    """All of an organism, whose genes are not looked at."""
    return [known.sequence for known in examples(name)]


@cache
def of_organism(name: str) -> GeneFinder:
    return fitted(examples(name), center=None)


@cache
def of_others(name: str) -> GeneFinder:
    """What all organisms but one have in common."""
    others = [other for other in SETS if other != name]
    return in_common({other: of_organism(other) for other in others}, {k: examples(k) for k in others})


@cache
def warm_up() -> None:
    """Compile all kernels."""
    train, test = next(splits("c_elegans", 1))
    for settings in ({}, {"tuning": ImplicitTuner(max_evaluations=1)}):
        adapt(fitted(train[:8], **settings), [w.sequence for w in test[:2]], 1).predict(test[:2])


# --- the run ----------------------------------------------------------------------------------------------


def run(name: str, train: Windows, test: Windows, method: str) -> dict[str, Any]:
    if method in METHODS:
        warm_up()
        found, *seconds = ours(name, train, test, method)
    else:
        found, *seconds = augustus(train, test, PEERS[method])
    true = {w.name: w.transcripts for w in test}
    return {
        "seconds": dict(zip(("training", "prediction"), np.round(seconds, 2).tolist(), strict=True)),
        "windows": packed(gene_scores(true, found)),
        "margin": packed(gene_scores(true, found, gene_regions(true, MARGIN))),
    }


class Comparison(Run):
    """The same with other methods."""

    def all(self, sets: list[str], methods: list[str], n_splits: int) -> None:
        for name in sets:
            given = splits(name, 1 if name == "fly" else n_splits)
            for k, (train, test) in enumerate(given):
                found = self._place(name, k)
                for method in methods:
                    if method not in found:
                        found[method] = run(name, train[: self.most], test[: self.most], method)
                        self._save()
                        log(f"{name}, split {k}, {method}: {text(scores([found[method]]))}")
        known = self.result["sets"]
        self.result["summary"] = {name: summary(rows) for name, rows in known.items()}
        self.result["all sets"] = compared([row for rows in known.values() for row in rows])
        self._save()

    def _save(self) -> None:
        self.result["published"] = PUBLISHED
        if is_installed():
            self.result["AUGUSTUS"] = version()
        super()._save()


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the splits that have a method."""
    of = {method: [row[method] for row in rows if method in row] for method in ALL}
    methods = {method: of_method(done) for method, done in of.items() if done}
    return {**methods, "differences": compared(rows)}


def of_method(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean seconds of a split, and sensitivity, precision and F1 by level."""
    seconds = {key: float(np.mean([row["seconds"][key] for row in rows])) for key in rows[0]["seconds"]}
    accuracies = {where: {level: list(p) for level, p in levels(scores(rows, where))} for where in WHERE}
    return {"splits": len(rows), "seconds": seconds, **accuracies}


def compared(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Differences of ours to AUGUSTUS, over the splits that have both."""
    found: dict[str, Any] = {}
    for a in METHODS:
        for b in PEERS:
            both = [row for row in rows if {a, b} <= row.keys()]
            if both:
                found[f"{a} minus {b}"] = {where: differences(both, a, b, where) for where in WHERE}
    return found


def differences(rows: list[dict[str, Any]], a: str, b: str, where: str) -> dict[str, Any]:
    """In F1, of method a minus b."""
    left, right = (scores([row[name] for row in rows], where) for name in (b, a))
    return {level: vars(gene_difference(left, right, level, "f1")) for level in ("exon", "gene")}


def show(result: dict[str, Any]) -> None:
    """F1 and seconds of all methods, and the differences."""
    for name, found in result["summary"].items():
        for method in (m for m in ALL if m in found):
            row = found[method]
            f1 = "; ".join(
                f"{where} " + ", ".join(f"{level} {100 * row[where][level][2]:.1f}" for level in row[where])
                for where in WHERE
            )
            took = " + ".join(f"{seconds:.1f}" for seconds in row["seconds"].values())
            print(f"{name}, {method}: F1 in {f1}; {took} s")
    for pair, places in result["all sets"].items():
        for where, found in places.items():
            told = (f"{k} {v['value']:+.3f} [{v['low']:+.3f}, {v['high']:+.3f}]" for k, v in found.items())
            print(f"{pair}, {where}: {', '.join(told)}")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=ALL, default=list(ALL))
    parser.add_argument("--splits", type=int, default=SPLITS)
    arguments = parser.parse_args()
    methods = arguments.methods
    if not is_installed() and any(method in PEERS for method in methods):
        log("AUGUSTUS is not installed (apt install augustus augustus-data): going on without it")
        methods = [method for method in methods if method in METHODS]
    folder = folder_for(NAME, arguments.quick)
    whole = Comparison(folder / f"{NAME}.json", MOST_QUICKLY if arguments.quick else None)
    whole.all(arguments.sets, methods, 1 if arguments.quick else arguments.splits)
    show(whole.result)
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
