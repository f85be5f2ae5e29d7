"""``structune shard`` of RNA, genes and alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from structune.cli import reports
from structune.cli.align_data import read_aligned
from structune.cli.batches import Progress, batches
from structune.cli.gene_data import Finder, read_annotated
from structune.cli.rna_data import read_families, read_with_structures
from structune.cli.shard_data import Target
from structune.estimators.aligner import SequenceAligner
from structune.estimators.folder import RNAFolder
from structune.formats import AnnotatedSequence
from structune.shard_files import ShardFolder

_MOST_BASES, _MOST_SEQUENCES = 1 << 23, 1 << 14  # that are in memory at a time, or one sequence


def shard_rna(files: Sequence[Path], families: Path | None, folder: RNAFolder, target: Target) -> None:
    """Families are held out together, if they are known."""
    examples = read_with_structures(files)
    groups = None if families is None else read_families(families, examples)
    sequences = [example.record.sequence for example in examples]
    with reports.short_warnings():
        written = target.write(folder, sequences, [example.structure for example in examples], groups)
    target.tell(written, _described(written, "sequences", "bases"))


def shard_alignments(
    files: Sequence[Path], most_pairs: int | None, aligner: SequenceAligner, target: Target
) -> None:
    """Pairs of one alignment are held out together."""
    data = read_aligned(files, most_pairs, target.seed)
    groups = data.families if len(set(data.families)) > 1 else None
    written = target.write(aligner, data.pairs, data.rows, groups)
    target.tell(written, _described(written, "pairs", "residues"))


def shard_genes(
    annotations: Sequence[Path],
    sequences: Sequence[Path] | None,
    finder: Finder,
    target: Target,
    quiet: bool,
) -> None:
    """Genomes are read block by block, more than once if the model depends on all of them."""

    def blocks() -> Iterator[list[AnnotatedSequence]]:
        read = read_annotated(annotations, sequences)
        with Progress(not quiet, stage="shards", unit="sequences") as progress:
            for block in batches(read, lambda each: len(each.sequence), _MOST_BASES, _MOST_SEQUENCES):
                yield block
                progress.advance(len(block))

    with reports.short_warnings():
        written = finder.write_blocks(blocks, target.writer())
    target.tell(written, _described(written, "examples", "bases"))


def _described(written: ShardFolder, examples: str, parts: str) -> str:
    return f"{len(written):,} {examples}, {sum(written.n_parts):,} {parts}"
