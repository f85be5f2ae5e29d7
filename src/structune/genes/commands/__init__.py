"""The commands of genes."""

from __future__ import annotations

from typing import Annotated

import typer

from structune.cli import options as opt
from structune.cli.settings import HeldTo, Results, Running, Sharding, Telling, Tuning, spread
from structune.genes.commands import options as own


@spread
def train(
    source: own.Source,
    results: Results,
    *,
    penalty: Annotated[
        float | None,
        typer.Option(
            help="Precision of the Gaussian prior of all weights; by default one for each kind of weight "
            "that was best for three organisms. Losses other than log want larger ones.",
            show_default=False,
        ),
    ] = None,
    loss: opt.LossOption = opt.Loss.log,
    space: own.Space,
    held_to: HeldTo,
    test: own.Test,
    running: Running,
) -> None:
    """Learn to find genes, with a regularisation that you give.

    Genes that overlap others, or that lack a start or stop codon, splice sites, or whole codons, are left
    out, and named.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train genes genes.gb --model genes.structune --penalty 5
      structune train genes genes.gff3.gz --sequences genome.fa.gz --model genes.structune
    """
    from structune.genes.commands.training import run
    from structune.genes.eukaryotes.gene_finder import GeneFinder

    settings = {"penalty": penalty, "loss": loss.value, **space.parameters(), **held_to.parameters()}
    finder = GeneFinder(**settings, **running.parameters(results))
    raise typer.Exit(run(source, test, finder, results))


@spread
def tune(
    source: own.Source,
    results: Results,
    tuning: Tuning,
    *,
    loss: opt.TunedLoss = opt.Loss.log,
    groups: own.GroupsOption = opt.KindGroups.kind,
    space: own.Space,
    held_to: HeldTo,
    test: own.Test,
    running: Running,
) -> None:
    """Learn to find genes, and the regularisation with it.

    What is held out are genes, with what is around them. Which genes cannot be learned from: see train genes.
    majorize needs a small part of the time of implicit, and finds worse models.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune genes genes.gb --model genes.structune --plot tuning.png
    """
    from structune.genes.commands.training import run
    from structune.genes.eukaryotes.gene_finder import GeneFinder

    settings = {"loss": loss.value, "groups": groups.value, **space.parameters(), **held_to.parameters()}
    finder = GeneFinder(**settings, **tuning.parameters(), **running.parameters(results))
    raise typer.Exit(run(source, test, finder, results, tuning.plot))


@spread
def shard(source: own.Source, sharding: Sharding, space: own.Space, quiet: opt.Quiet = False) -> None:
    """Encode annotated sequences that are larger than memory as a folder that train and tune can read.

    The files are read twice, some sequences at a time: for the lengths of introns, and to encode the genes.
    What lies in the folder is mapped into memory when it is needed. Features, strands and donors are those
    given here.

    \b
    Example:
      structune shard genes genes.gff3 shards/ --sequences genome.fa
      structune tune genes shards/ --model genes.structune
    """
    from structune.genes.commands.sharding import run
    from structune.genes.eukaryotes.gene_finder import GeneFinder

    run(source, GeneFinder(**space.parameters()), sharding, quiet)


@spread
def evaluate(
    model: own.ModelOrPrediction,
    annotations: own.Annotations,
    *,
    sequences: own.Sequences = None,
    task: own.Task = None,
    code: own.CodeOfGenome = None,
    margin: own.Margin = None,
    jobs: opt.Jobs = -1,
    telling: Telling,
) -> None:
    """Compare predicted genes with annotated ones.

    Shows sensitivity, precision (which the field calls specificity) and F1 of coding bases, exons,
    transcripts, genes and stop codons, all sequences together. The genes are those that a model predicts, of
    bacteria or others, or those of a GFF3 or GTF file. Of predicted genes those that go on beyond an end of
    their sequence are left out. The genetic code is found as by genes, in the first million bases.

    \b
    Example:
      structune evaluate genes genes.structune test.gb --margin 500
      structune evaluate prokaryotic-genes tree.structune test.gb --task E.coli
      structune evaluate genes predicted.gff3 known.gff3
    """
    from structune.genes.commands.evaluation import run

    run(model, task, code, annotations, sequences, margin, jobs, telling)


@spread
def genes(request: own.Request) -> None:
    """Find the genes of DNA sequences.

    Soft-masked bases, in lower case, count as others do. The score of a gene is the mean probability of its
    bases being coding; by prokaryotic models it is the probability of the gene, with both its ends. Models of
    losses other than log give none. Genes come in the order of FASTA, which is not held in memory as a whole
    unless a model is chosen or adapted by it, or the genetic code is found. What was found before Ctrl-C has
    been written; the exit code is then 130.

    Genes may go beyond the ends of a sequence, and by prokaryotic models of ten or more unknown bases in a
    row: they lack a start or a stop codon then, and are marked as partial. Their first and last codons may
    not be whole, and proteins are without these.

    \b
    Example:
      structune genes genome.fa.gz --model genes.structune --proteins proteins.faa > genes.gff3
      structune genes bacterium.fa --model tree.structune --task E.coli > genes.gff3
      structune genes new.fa --model pretrained --adapt 20 > genes.gff3
      structune genes contigs.fa --model pretrained --meta > genes.gff3
      structune genes insect.fa --model eukaryotes --adapt 20 > genes.gff3
    """
    from structune.genes.commands.finding import run

    raise typer.Exit(run(request))


def warm() -> None:
    """Compile the kernels of genes."""
    from structune.genes.commands.warming import run

    run()
