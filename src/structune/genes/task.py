"""Genes on the command line: reading annotations, training, and what is printed and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

from structune.cli.fields import option
from structune.cli.task import Examples, OwnCommand, Rule, Task
from structune.errors import DataError
from structune.files.text import plural
from structune.genes.options import Finding, Learning, ProkaryoticLearning, Reading, Scoring

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.genes.finding import Finder
    from structune.genes.formats.record import AnnotatedSequence
    from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
    from structune.genes.scores import GeneEvaluation, PredictedGenes

_MOST_BASES, _MOST_SEQUENCES = 1 << 23, 1 << 14  # that are in memory at a time, or one sequence
_LONG = 10_000  # bases of a sequence that has genes
_MANY, _HARDLY = 300, 0.01  # genes, and the share of them with introns
_MODEL = (
    "Model file from train or tune, of type genes or prokaryotic-genes. Or an included model: pretrained "
    "(bacteria and archaea), fly, a_thaliana or c_elegans"
)


@dataclass(frozen=True)
class Source:
    """The model that finds genes."""

    model: str | None = option(
        None,
        "--model",
        "-m",
        metavar="MODEL",
        help=f"{_MODEL}, or eukaryotes, which needs --adapt. By default pretrained if genes are as dense as "
        "in bacteria; for other genomes a model must be given.",
        panel="Prediction",
    )


def _find(files: Sequence[str], source: Source, finding: Finding) -> int:
    from structune.genes.finding import find_genes

    if len(files) != 1:
        raise DataError(f"the command takes one file of sequences, not {len(files)}: join them into one file")
    return find_genes(files[0], source.model, finding)


_FIND = OwnCommand(
    about=(
        "Find the genes of DNA sequences.",
        "Genes are written in the order of SEQUENCES. The file is read piece by piece, unless the model is "
        "chosen by or adapted to the sequences. After Ctrl-C or an invalid line, the genes found so far are "
        "in the output.",
        "The score of a gene is the mean probability that its bases are coding. With prokaryotic models it "
        "is the probability of the gene with both its ends. Only models with the log loss give scores.",
        "Genes may continue beyond the ends of a sequence and, with prokaryotic models, into gaps of ten or "
        "more unknown bases. Such genes lack a start or stop codon and are marked as partial. Lower case "
        "counts as upper case.",
    ),
    inputs="One FASTA or GenBank file, also compressed; - is standard input.",
    metavar="SEQUENCES",
    options=(Source, Finding),
    work=_find,
    rules=(
        Rule("--meta", forbids=("--task", "--adapt"), because="each contig gets its own model"),
        Rule("--hint-weight", needs=("--hints",)),
    ),
)


class GenesTask(Task):
    """Genes with introns, from annotated sequences."""

    estimator = "structune.genes.eukaryotes.gene_finder:GeneFinder"
    learns = "to find genes with introns"
    about = (
        "Genes are skipped and reported if they overlap other genes, lack a start codon, stop codon or "
        "splice sites, or do not consist of whole codons. Tuning holds out genes together with the bases "
        "around them. The tuning method majorize is much faster than implicit, but finds worse models."
    )
    files = (
        "Annotated sequences: GenBank, GFF3 with the sequences after ##FASTA, or GFF3 or GTF with "
        "--sequences; also compressed."
    )
    inputs = "FASTA or GenBank, also compressed."
    parts = "bases"
    reading_options = Reading
    learning_options: ClassVar[type] = Learning
    scoring_options = Scoring
    space: ClassVar[tuple[str, ...]] = ("features", "strands", "donors", "flank")
    parameters: ClassVar[tuple[str, ...]] = ("loss", "constraints")
    own: ClassVar[Mapping[str, OwnCommand]] = {"genes": _FIND}
    has_trees = True
    evaluates_others = ", an included model, or a file of genes (see above)"
    evaluates = (
        "Shows sensitivity, precision (called specificity in gene finding) and F1 of coding bases, exons, "
        "transcripts, genes and stop codons, for all sequences together. Predicted genes that continue "
        "beyond an end of their sequence do not count.\n\n"
        "MODEL is a model of type genes or prokaryotic-genes, an included model (pretrained, fly, "
        "a_thaliana, c_elegans), or a .gff3, .gff or .gtf file of genes that any program predicted. "
        "With such a file, the annotation needs no sequences."
    )
    examples: ClassVar[tuple[str, ...]] = (
        "structune train genes genes.gb --model genes.structune --penalty 5",
        "structune train genes genes.gff3.gz --sequences genome.fa.gz --model genes.structune",
        "structune tune genes genes.gb --model genes.structune --plot tuning.png",
        "structune shard genes genes.gff3 shards/ --sequences genome.fa",
        "structune evaluate genes genes.structune test.gb --margin 500",
        "structune evaluate genes predicted.gff3 known.gff3",
        "structune predict genes.structune genome.fa > genes.gff3",
        "structune genes genome.fa.gz --model genes.structune --proteins proteins.faa > genes.gff3",
        "structune genes bacterium.fa --model tree.structune --task E.coli > genes.gff3",
        "structune genes new.fa --model pretrained --adapt 20 > genes.gff3",
        "structune genes contigs.fa --model pretrained --meta > genes.gff3",
        "structune genes insect.fa --model eukaryotes --adapt 20 > genes.gff3",
    )

    # --- learning -----------------------------------------------------------------------------------------

    def suit(self, model: Any, learning: Any, data: Iterable[AnnotatedSequence], name: str) -> None:
        """Change an estimator by what a file says of its genes."""

    def advise(self, data: Sequence[AnnotatedSequence], name: str) -> None:
        """Print what is unusual for a model of this type."""
        from structune.cli.terminal import say

        genes = {(each.name, t.gene): bool(t.introns) for each in data for t in each.transcripts}
        if len(genes) >= _MANY and sum(genes.values()) < _HARDLY * len(genes):
            some = f"{sum(genes.values()):,} of {len(genes):,} genes"
            say(f"{name}: only {some} have introns. For bacteria and archaea use prokaryotic-genes")

    def read(self, files: Sequence[str], learning: Learning, model: Any) -> Examples:
        from structune.cli.terminal import say
        from structune.genes.examples import report
        from structune.genes.formats.genomes import read_annotated

        data = list(read_annotated(files, learning.sequences, learning.stop_codon, say))
        skipped = [one for each in data for one in each.skipped]
        if not any(each.transcripts for each in data):
            try:
                report(0, skipped)
            except DataError as error:
                raise DataError(f"{', '.join(files)}: {error}") from None
        self.suit(model, learning, data, files[0])
        self.advise(data, files[0])
        n_genes = sum(len({t.gene for t in each.transcripts}) for each in data)
        n_bases = sum(len(each.sequence) for each in data)
        told = (
            f"{plural(n_genes, 'annotated gene')} on {plural(len(data), 'sequence')} of "
            f"{plural(n_bases, 'base')}"
        )

        def left_out() -> list[tuple[str, str]]:
            """How many annotated genes training skipped; those that the reader skipped are not annotated."""
            return [("skipped", f"{len(model.skipped_) - len(skipped):,} of these genes")]

        return Examples((data, [each.transcripts for each in data]), [("data", told)], told_after=left_out)

    def shard(
        self, files: Sequence[str], learning: Learning, model: Any, writer: ShardWriter, quiet: bool
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        """Read genomes block by block, more than once if the model depends on all of them."""
        from structune.cli.terminal import Progress, say
        from structune.genes.formats.genomes import read_annotated
        from structune.running.memory import batches

        def read() -> Iterator[list[AnnotatedSequence]]:
            found = read_annotated(files, learning.sequences, learning.stop_codon, say)
            return batches(found, lambda each: len(each.sequence), _MOST_BASES, _MOST_SEQUENCES)

        begun = read()
        first = list(islice(begun, 1))
        self.suit(model, learning, chain.from_iterable(first), files[0])
        reading = [chain(first, begun)]  # a pipe is read once

        def blocks() -> Iterator[list[AnnotatedSequence]]:
            with Progress(not quiet, stage="shards", unit="sequences") as progress:
                for block in reading.pop() if reading else read():
                    yield block
                    progress.advance(len(block))

        written = model.write_blocks(blocks, writer)
        return written, [
            ("data", f"{plural(len(written), 'example')}, {plural(sum(written.n_parts), 'base')}")
        ]

    # --- use ----------------------------------------------------------------------------------------------

    def open(self, path: str, options: Scoring) -> Finder | PredictedGenes:
        from structune.genes.finding import open_finder
        from structune.genes.scores import PredictedGenes, is_annotation

        if is_annotation(path):
            return PredictedGenes.read(path, options)
        return open_finder(path, options.jobs, options.task, options.code)

    def read_known(self, files: Sequence[str], reading: Reading, model: Any, header: Any) -> Iterable[Any]:
        from structune.genes.scores import PredictedGenes, annotated_genes, read_telling_skipped

        if isinstance(model, PredictedGenes):
            return annotated_genes(files, reading.sequences).items()
        return read_telling_skipped(files, reading.sequences)

    def score(self, model: Any, known: Iterable[Any], scoring: Scoring) -> GeneEvaluation:
        from structune.genes.scores import GeneEvaluation, PredictedGenes

        if isinstance(model, PredictedGenes):
            return model.compared(dict(known), scoring.margin)
        return GeneEvaluation.of_finder(model, known, scoring)

    def warm(self) -> None:
        """Learn as commands do if nothing else is asked for, and find genes with introns."""
        from structune.genes.eukaryotes.gene_finder import GeneFinder

        known = [_annotated(2, _INTRON), _annotated(2, _INTRON)]
        for tuning in (None, "implicit"):
            GeneFinder(tuning=tuning, n_jobs=1).fit(known).predict(known)


class ProkaryoticGenesTask(GenesTask):
    """Genes without introns, of bacteria and archaea."""

    estimator = "structune.genes.prokaryotes.prokaryotic_gene_finder:ProkaryoticGeneFinder"
    learns = "to find the genes of bacteria and archaea"
    about = (
        "Genes are skipped and reported if they overlap others by more than 60 bases, are shorter than 90 "
        "bases, consist of several parts, or lack a start codon (ATG, GTG or TTG) or a stop codon. Tuning "
        "holds out pieces of about five genes each."
    )
    learning_options = ProkaryoticLearning
    space = ()
    parameters = ("loss", "starts")
    rules = (Rule("--starts", forbids=("--tree",), because="models of a tree use annotated starts"),)
    examples = (
        "structune train prokaryotic-genes genome.gbff.gz --model genes.structune",
        "structune train prokaryotic-genes E.coli.gb new=x.gb --tree tree.nwk --model tree.structune",
        "structune tune prokaryotic-genes genome.gbff.gz --model genes.structune --plot tuning.png",
        "structune shard prokaryotic-genes *.gbff.gz shards/",
        "structune evaluate prokaryotic-genes tree.structune test.gb --task E.coli",
        "structune predict genes.structune genome.fa > genes.gff3",
    )

    def prepare(self, model: ProkaryoticGeneFinder, learning: ProkaryoticLearning) -> None:
        if learning.code is not None:
            model.set_params(code=learning.code)

    def suit(self, model: Any, learning: Any, data: Iterable[AnnotatedSequence], name: str) -> None:
        from structune.cli.terminal import say
        from structune.genes.prokaryotes.structure.candidates import OrfRules

        if learning.code is not None:
            return
        # that of most genes, if it has other stop codons. It is counted in the finder: a tree is read file by
        # file, and its models are learned by one code
        codes: Counter[int] = vars(model).setdefault("_codes", Counter())
        codes.update(t.code for each in data for t in each.transcripts if t.code is not None)
        for code, n in codes.most_common(1):
            if not OrfRules(model.code).has_stops(code):
                say(f"{name}: training uses the genetic code of {plural(n, 'gene')} with transl_table={code}")
                model.set_params(code=code)

    def advise(self, data: Sequence[AnnotatedSequence], name: str) -> None:
        from structune.cli.terminal import say

        long = [each for each in data if len(each.sequence) >= _LONG]
        n_empty = sum(not each.transcripts for each in long)
        if 2 * n_empty > len(long):
            where = f"{n_empty:,} of {len(long):,} sequences of {_LONG:,} bases or more"
            say(f"{name}: {where} have no annotated gene, and are not used for training")

    def warm(self) -> None:
        """Learn, and find genes with the model that comes with structune."""
        from structune.genes.adaptation import adapt
        from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
        from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder

        known = [_annotated(12), _annotated(12)]
        for tuning in (None, "implicit"):
            ProkaryoticGeneFinder(tuning=tuning, n_jobs=1).fit(known)
        adapt(MetagenomeFinder.pretrained(known).set_params(n_jobs=1), known, 1).predict(known)


class MetagenomesTask(GenesTask):
    """Genes of contigs of many prokaryotes, by models that are made in Python."""

    estimator = "structune.genes.prokaryotes.metagenomes.metagenome_finder:MetagenomeFinder"
    examples = ("structune predict metagenomes.structune contigs.fa > genes.gff3",)

    @classmethod
    def has(cls, verb: str) -> bool:
        return verb == "predict"


GENES, PROKARYOTIC_GENES, METAGENOMES = GenesTask(), ProkaryoticGenesTask(), MetagenomesTask()
_BETWEEN, _INTRON = "ATTAAATCATTT" * 5, f"GTAAGT{'ATTCT' * 6}TTTTCAG"
_CODING = f"ATG{'GCCGAGCTGAAGGGC' * 7}TAA"


def _annotated(n_genes: int, intron: str = "") -> AnnotatedSequence:
    """Genes, each with an intron if one is given."""
    from structune.genes.formats.record import AnnotatedSequence, Transcript

    half, gene = len(_CODING) // 2, _CODING[: len(_CODING) // 2] + intron + _CODING[len(_CODING) // 2 :]
    parts = ((0, half), (half + len(intron), len(gene))) if intron else ((0, len(gene)),)
    starts = [len(_BETWEEN) + k * len(_BETWEEN + gene) for k in range(n_genes)]
    found = [
        Transcript("c", "+", tuple((a + start, b + start) for a, b in parts), f"t{k}", f"g{k}")
        for k, start in enumerate(starts)
    ]
    return AnnotatedSequence("c", (_BETWEEN + gene) * n_genes + _BETWEEN, tuple(found))
