"""Alignments on the command line: ``align``, and ``train``, ``tune``, ``evaluate``, ... of aligners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from structune.alignment.options import Learning, Request, Scoring
from structune.cli.task import Examples, OwnCommand, Rule, Task
from structune.errors import DataError
from structune.files.text import plural

if TYPE_CHECKING:
    from structune.alignment.aligner import SequenceAligner
    from structune.alignment.scores import FamilyScores, PairScores
    from structune.files.shards import ShardFolder, ShardWriter

_MOST_RESIDUES, _MOST_PAIRS = 1 << 21, 1 << 14  # that are in memory at a time, or one pair


def _align(files: Sequence[str], request: Request) -> int:
    from structune.alignment.align import align_files

    return align_files(files, request)


_PAIRWISE = ("--pairs", "--which", "--method", "--gamma")
_ALIGN = OwnCommand(
    about=(
        "Align two proteins, or all sequences of a family together.",
        "The sequences of a file are aligned as one family if there are more than two of them, or if there "
        "are several files. --pairs aligns them in pairs instead. Alignments are written in the order of the "
        "input, each as soon as it is known. After Ctrl-C the finished ones remain, and the exit code is "
        "130.",
    ),
    inputs="FASTA files (also compressed) of two proteins or of a family; - is standard input. If there are "
    "several files, or a folder of files, each file is a family. Gaps in the sequences are removed.",
    options=(Request,),
    work=_align,
    rules=(
        Rule("--multiple", forbids=_PAIRWISE, because="they apply to pairs of sequences only"),
        Rule("--gamma", forbids=("--method viterbi",)),
    ),
)


class AlignmentTask(Task):
    """Alignments of two proteins, or of families."""

    estimator = "structune.alignment.aligner:SequenceAligner"
    learns = "to align proteins"
    about = "Pairs of the same alignment are held out together."
    files = (
        "Alignments in FASTA, A2M, A3M, Clustal, Stockholm, PHYLIP or MSF, also compressed, or folders of "
        "such files. Each pair of rows of an alignment is an example. If a pair has residues in lower case, "
        "only its columns of two residues in upper case count as known."
    )
    parts = "residues"
    learning_options = Learning
    scoring_options = Scoring
    space = ("features", "band", "alphabet")
    parameters = ("loss", "center")
    penalties = ("penalty", "random_state")
    rules = (
        Rule(
            "--seed",
            needs=("--most-pairs", "--method implicit", "--method grid"),
            because="it seeds the choice of pairs and of held-out data only",
        ),
    )
    own = {"align": _ALIGN}  # noqa: RUF012
    evaluates_others = "; or pretrained, a matrix such as BLOSUM62, or alignments (see above)"
    evaluates = (
        "Pairs: prints the mean recall (Q, the developer's score) and precision of matches, for pairs of "
        "increasing sequence identity. Families, with --multiple: prints the shares of matches (Q, also "
        "called SPS) and of whole columns (TC) of the known alignments that were found. MODEL may also be a "
        "file or folder of multiple alignments by any program, with the file names of the known alignments. "
        "Residues in lower case in the known alignments are not scored."
    )
    examples = (
        "structune train alignment families/ --model aligner.structune --penalty 5 --most-pairs 3",
        "structune tune alignment families/ --model aligner.structune --most-pairs 3 --plot tuning.png",
        "structune shard alignment families/ shards/ --most-pairs 3",
        "structune predict aligner.structune two.fa > aligned.fa",
        "structune evaluate alignment aligner.structune test/",
        "structune evaluate alignment pretrained test/ --multiple",
        "structune evaluate alignment aligned/ test/",
        "structune align family.fa > aligned.fa",
        "structune align families/ -o alignments/ --format stockholm",
        "structune align proteins.fa --pairs > alignments.fa",
        "structune align two.fa --model aligner.structune --format json --plot matches.png",
        "structune align proteins.fa --which all --model BLOSUM62 --format clustal",
    )

    def read(self, files: Sequence[str], learning: Learning, model: SequenceAligner) -> Examples:
        from structune.alignment.examples import read_pairs

        found = read_pairs(files, model.alphabet, learning.most_pairs, model.random_state)
        pairs, rows, _, families, _ = map(list, zip(*found, strict=True))
        n_families, n_residues = len(set(families)), sum(len(x) + len(y) for x, y in pairs)
        told = (
            f"{plural(len(pairs), 'pair')} of {plural(n_families, 'alignment')}, "
            f"{plural(n_residues, 'residue')}"
        )
        groups = families if n_families > 1 else None
        return Examples((pairs, rows), [("data", told)], options={"groups": groups})

    def shard(
        self,
        files: Sequence[str],
        learning: Learning,
        model: SequenceAligner,
        writer: ShardWriter,
        quiet: bool,
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        """Encode pairs, one alignment in memory at a time; pairs of one alignment are one group."""
        from itertools import chain, islice

        from structune.alignment.examples import files_of, read_pairs
        from structune.alignment.formats import read_protein_alignments
        from structune.cli.terminal import Progress
        from structune.running.memory import batches

        alignments = chain.from_iterable(map(read_protein_alignments, files_of(files)))
        grouped = len(list(islice(alignments, 2))) > 1

        def blocks() -> Iterator[tuple[Any, ...]]:
            pairs = read_pairs(files, model.alphabet, learning.most_pairs, model.random_state)
            with Progress(not quiet, stage="shards", unit="pairs") as progress:
                for block in batches(
                    pairs, lambda known: sum(map(len, known.pair)), _MOST_RESIDUES, _MOST_PAIRS
                ):
                    families = [each.family for each in block] if grouped else None
                    yield [each.pair for each in block], [each.rows for each in block], None, families
                    progress.advance(len(block))

        written = model.write_blocks(blocks, writer)
        return written, [
            ("data", f"{plural(len(written), 'pair')}, {plural(sum(written.n_parts), 'residue')}")
        ]

    def open(self, path: str, options: Scoring) -> SequenceAligner | str:
        """A model for pairs; or just `path` if families are scored (a model's, or a file of alignments)."""
        from structune.alignment.examples import check_gamma, open_aligner
        from structune.alignment.scores import is_alignments

        if options.multiple or is_alignments(path):
            if options.gamma is not None:
                raise DataError("--gamma has no effect on whole families.")
            return path
        aligner = open_aligner(path, options.jobs)
        check_gamma(aligner, options.gamma)
        return aligner

    def read_known(
        self, files: Sequence[str], reading: Any, model: SequenceAligner | str, header: Any
    ) -> Iterable[Any]:
        from structune.alignment.examples import read_pairs
        from structune.alignment.scores import read_families

        if isinstance(model, str):
            return read_families(files).items()
        return read_pairs(files, model.alphabet)

    def score(
        self, model: SequenceAligner | str, known: Iterable[Any], scoring: Scoring
    ) -> PairScores | FamilyScores:
        from structune.alignment.scores import score_families, score_pairs

        if isinstance(model, str):
            return score_families(model, dict(known), scoring.jobs)
        return score_pairs(model, list(known), scoring.gamma)

    def warm(self) -> None:
        """Train with the defaults of the commands, and align in every way, to compile the kernels."""
        from structune.alignment.aligner import SequenceAligner

        rows = [("ACDEFGHIK", "ACD-FGHIK"), ("MK-V", "MKLV"), ("ACDEFGHIK", "-----GHIK")]
        rows += [("WYV", "W-V"), ("ACD", "ACD")]
        pairs: Any = [tuple(row.replace("-", "") for row in both) for both in rows]
        for tuning in (None, "implicit"):
            SequenceAligner(tuning=tuning, n_jobs=1).fit(pairs, rows)
        aligner = SequenceAligner.pretrained().set_params(n_jobs=1)
        aligner.predict(pairs)
        aligner.predict_viterbi(pairs)
        aligner.predict_confidence(pairs, posteriors=True)
        aligner.align([sequence for pair in pairs[:2] for sequence in pair], refinements=1)


TASK = AlignmentTask()
