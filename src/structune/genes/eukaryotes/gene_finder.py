"""The gene finder: protein-coding genes by a conditional random field, with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.paths import gene_path, path_genes
from structune.genes.eukaryotes.structure.rules import GeneRules
from structune.genes.eukaryotes.structure.shard import ExonShard
from structune.genes.eukaryotes.structure.weights import ExonWeights, intron_lengths
from structune.genes.examples import Blocks, GeneExamples, cut_examples, report
from structune.genes.formats.record import AnnotatedSequence, Exons, Skipped, Transcript
from structune.genes.inputs import annotated_sequences, exon_f1, named_genes, of_examples
from structune.learning.constrained import ConstrainedEstimator
from structune.learning.estimator_file import Arrays, entries, pack_names, unpack_fit, unpack_names
from structune.learning.parameters import parameters
from structune.structure import FloatArray

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.learning.tuning.problem import Tuner

_MOST_INTRON = 10**4  # in model files
_FIRST_PRECISION = 30.0  # of implicit tuning: at lower ones, fits take several times as many passes


@parameters
class GeneFinder(ConstrainedEstimator):
    """Eukaryotic genes by a conditional random field, with regularisation that it can learn.

    Parameters
    ----------
    groups : {"kind", "single", "separate"} or callable
        Which weights share a precision: those of a kind (words of each length in coding, intron and
        intergenic sequence, each signal, lengths of introns, ...), all, none, or by a function from a
        weight's name to its group's.
    loss : {"log", "margin", "ramp"}, or a loss
        The negative log-probability of the genes; or losses of the number of bases with another label.
    features : {"full", "paper"}
        "paper": words of six bases by coding position, and no more than figure 5 of Chen et al. 2009 has.
        "full": also shorter words, the bases around starts, stops and splice sites, and lengths of introns.
    strands : {"both", "forward"}
        Where genes may be.
    donors : sequence of {"GT", "GC"}
        First two bases of introns.
    constraints : None or "validation"
        "validation" holds the model to `validation_sets` parts of the training genes (Chen et al. 2009): of
        each the score of the best genes is to exceed that of the annotated ones by `gamma` at most. Log loss
        only. Where no weights find all genes of a part, the weights shrink until their scores differ by so
        little, and probabilities say nothing then. With `tuning`, precisions are tuned first, without the
        constraints.
    flank : int
        How much of what is around a gene is learned from, in bases.

    Attributes
    ----------
    introns_ : (int, int)
        The shortest intron, and the longest whose length has a weight, as learned from the training genes.
    skipped_ : list of Skipped
        Training genes that were left out, and why.
    graph_ : ExonGraph
        The structure.
    options_ : dict
        Features, strands and donors that it was made with.

    Notes
    -----
    The model is that of figure 5 of Chen, Chen, Brent & Tenney (2009): genes of one transcript, from ATG to
    a stop codon with none before it in frame, introns from GT to AG. There are no untranslated exons, no
    genes within genes, no alternative transcripts, and start and stop codons are not split by introns.
    Sequences begin and end between genes.

    Examples
    --------
    >>> from structune import GeneFinder
    >>> from structune.genes import AnnotatedSequence, Transcript
    >>> sequence = "CCTATATGGCAGGTAAGTCAGGCTAACCT"
    >>> gene = Transcript("c", "+", ((5, 12), (21, 26)), "t", "g")
    >>> finder = GeneFinder(penalty=0.01).fit([AnnotatedSequence("c", sequence, (gene,))])
    >>> finder.predict([sequence])[0][0].exons
    ((5, 12), (21, 26))
    """

    _learns_tasks = True
    _natural_groups = "kind"

    features: str = "full"
    strands: str = "both"
    donors: Sequence[str] = ("GT",)
    flank: int = 1000
    hessian: str = field(default="complex-step", init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, tracks: Any = None
    ) -> Self:
        """Learn from annotated sequences.

        Parameters
        ----------
        X : list of AnnotatedSequence, or of str
            Nucleotides in upper or lower case; U counts as T, letters other than these as unknown bases.
        y : list of lists of Transcript, optional
            The genes of each sequence, if X has none.
        sample_weight : array-like, shape (n_sequences,), optional
        groups : array-like, shape (n_sequences,), optional
            Genes of sequences of one group stay on one side of every held-out split.
        tracks : list of ndarray of shape (n_bases, n_tracks), optional
            Numbers that come with each base, such as conservation; predictions ask for them then.

        Raises
        ------
        DataError
            Names the sequence that cannot be used; or no gene is left.

        Warns
        -----
        SkippedGenesWarning
            Some genes cannot be learned from: see `skipped_`.
        """
        loss, annotated = self._make_loss(), annotated_sequences(X, y)
        examples = self._examples(annotated)
        examples.report()
        values = _checked_tracks(tracks, annotated)
        introns = intron_lengths(examples.introns)
        graph = self._graph(introns, 0 if values is None else values[0].shape[1])
        source = [s for s, _, _ in examples.spans]
        weights = of_examples(sample_weight, annotated, "weights", source)
        kept = of_examples(groups, annotated, "groups", source)
        parts = None if values is None else examples.parts(values)
        shard = _encode(graph, examples, parts, weights)
        self._learn(graph, loss, shard, self._start(graph), kept)
        self._keep_graph(graph, introns)
        self.skipped_ = examples.skipped
        return self

    def _examples(self, annotated: Iterable[AnnotatedSequence]) -> GeneExamples:
        if not isinstance(self.flank, int | np.integer) or self.flank < 0:
            raise DataError(f"flank={self.flank!r}: expected a whole number >= 0")
        ExonWeights.of(self.features, self._rules())  # refuses wrong options
        return cut_examples(annotated, self.flank, "+-" if self.strands == "both" else "+", self.donors)

    def write_blocks(self, blocks: Blocks, writer: ShardWriter) -> ShardFolder:
        """Write a folder of shards of more annotated sequences than memory holds.

        Parameters
        ----------
        blocks : function without arguments
            Gives lists of AnnotatedSequence; it is called twice, first for the lengths of introns.
        writer : ShardWriter

        Raises
        ------
        DataError
            As `fit`.

        Warns
        -----
        SkippedGenesWarning
            As `fit`.
        """

        def cut() -> Iterator[GeneExamples]:
            return (self._examples(annotated_sequences(block, None)) for block in blocks())

        introns, skipped = list[int](), list[Skipped]()
        for examples in cut():
            introns += examples.introns
            skipped += examples.skipped
        lengths = intron_lengths(introns)
        graph = self._graph(lengths, 0)
        for examples in cut():
            if examples.sequences:
                writer.add(_encode(graph, examples))
        report(writer.n_examples, skipped)
        model = copy(self)
        model._import(np.zeros(graph.n_weights))
        model._keep_graph(graph, lengths)
        model.skipped_ = skipped
        return writer.finish(model)

    def _keep_graph(self, graph: ExonGraph, introns: tuple[int, int]) -> None:
        """Keep it with the parameters that it was made by, which may be others in the next fit."""
        self.graph_, self.introns_ = graph, introns
        self.options_ = {"features": self.features, "strands": self.strands, "donors": list(self.donors)}

    def _graph(self, introns: tuple[int, int], n_tracks: int) -> ExonGraph:
        introns = introns if self.features == "full" else (introns[0], introns[0])
        return ExonGraph(ExonWeights.of(self.features, self._rules(introns), n_tracks))

    def _rules(self, introns: tuple[int, int] = GeneRules.introns) -> GeneRules:
        return GeneRules(self.strands, tuple(self.donors), introns)

    @property
    def _structure(self) -> ExonGraph:
        return self.graph_

    def _tuner(self, tuning: str | Tuner) -> Tuner:
        tuner = super()._tuner(tuning)
        if tuning == "implicit":
            tuner.start = _FIRST_PRECISION  # type: ignore[attr-defined] # an ImplicitTuner
        return tuner

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(self, X: Any, tracks: Any = None) -> list[tuple[Transcript, ...]]:
        """The most probable genes of each sequence.

        Parameters
        ----------
        X : list of str or AnnotatedSequence
        tracks : list of ndarray, optional
            As in `fit`.

        Returns
        -------
        list of tuples of Transcript
            By start; the score of each is the mean probability of its bases being coding on its strand, None
            with losses other than "log".
        """
        self._check_fitted()
        sequences = annotated_sequences(X, None)
        values = _checked_tracks(tracks, sequences)
        shard = self.graph_.encode(_inputs([s.sequence for s in sequences], values))
        found = self._each(shard, self._genes)
        return [named_genes(s.name, genes) for s, genes in zip(sequences, found, strict=True)]

    def _genes(self, shard: ExonShard) -> list[list[tuple[str, Exons, float | None]]]:
        """Strand, coding parts and score of the genes of each sequence."""
        paths, _ = self.graph_.best(self.coef_, shard)
        coding = self._coding(shard) if self.has_probabilities else None
        found = []
        for a, b in zip(shard.starts[:-1].tolist(), shard.starts[1:].tolist(), strict=True):
            genes = path_genes(self.graph_.weights, paths[a:b])
            found.append([(strand, exons, _score(coding, strand, exons, a)) for strand, exons in genes])
        return found

    def _coding(self, shard: ExonShard) -> dict[str, FloatArray]:
        """By strand, the probability of each base being coding."""
        columns = self.graph_.marginals(self.coef_, shard)
        return {sign: columns[:, 3 * k : 3 * k + 3].sum(axis=1) for k, sign in enumerate(self.graph_.rules.signs)}

    def score(self, X: Any, y: Any = None, tracks: Any = None) -> float:
        """F1 of exons, both ends of which must be right.

        Parameters
        ----------
        X, y, tracks
            As in `fit`.
        """
        annotated = annotated_sequences(X, y)
        return exon_f1(annotated, self.predict(annotated, tracks))

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        more = {"introns": list(self.introns_), "n_tracks": self.graph_.weights.n_tracks}
        return {"genes": self.options_ | more}, pack_names("weight", self.graph_.weight_names())

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> GeneFinder:
        names = unpack_names("weight", arrays)
        options = entries(header["genes"], features=str, strands=str, donors=list, introns=list, n_tracks=int)
        options["donors"] = tuple(options["donors"])
        n_tracks, introns = options.pop("n_tracks"), _checked_introns(options.pop("introns"))
        finder = cls(**options)
        if not 0 <= n_tracks <= len(names):  # or its tables may not fit in memory
            raise ModelFileError("the weights are those of another gene model")
        graph = finder._graph(introns, n_tracks)
        if graph.n_weights != len(names) or graph.weight_names() != names:
            raise ModelFileError("the weights are those of another gene model")
        unpack_fit(finder, graph.n_weights, header, arrays)
        finder.set_params(**options)
        finder._keep_graph(graph, introns)
        finder.skipped_ = []
        return finder


def _checked_introns(lengths: list[Any]) -> tuple[int, int]:
    """The lengths of a model file: tables grow with them, and kernels step by them."""
    if [type(n) for n in lengths] != [int, int] or not 0 <= lengths[0] <= lengths[1] <= _MOST_INTRON:
        raise ModelFileError(
            f"found introns={lengths!r:.60}, expected two rising numbers up to {_MOST_INTRON}"
        )
    return lengths[0], lengths[1]


def _checked_tracks(tracks: Any, sequences: Sequence[AnnotatedSequence]) -> list[FloatArray] | None:
    if tracks is None:
        return None
    values = [np.asarray(track, dtype=np.float64) for track in tracks]
    if len(values) != len(sequences):
        raise DataError(f"found tracks of {len(values)} sequences, expected those of {len(sequences)}")
    for track, sequence in zip(values, sequences, strict=True):
        expected = len(sequence.sequence), values[0].shape[-1] if values[0].ndim else 0
        if track.shape != expected:
            raise DataError(f"{sequence.name}: found tracks of shape {track.shape}, expected {expected}")
        if not np.isfinite(track).all():
            raise DataError(f"{sequence.name}: found a track that is not finite")
    return values


def _encode(
    graph: ExonGraph,
    examples: GeneExamples,
    tracks: list[FloatArray] | None = None,
    weights: FloatArray | None = None,
) -> ExonShard:
    paths = [
        gene_path(graph.weights, len(sequence), [t])
        for sequence, t in zip(examples.sequences, examples.transcripts, strict=True)
    ]
    return graph.encode(_inputs(examples.sequences, tracks), paths, weights)


def _inputs(sequences: list[str], tracks: list[FloatArray] | None) -> list[Any]:
    """As `ExonGraph.encode` wants them."""
    return list(sequences if tracks is None else zip(sequences, tracks, strict=True))


def _score(coding: Mapping[str, FloatArray] | None, strand: str, exons: Exons, first: int) -> float | None:
    if coding is None:
        return None
    of_bases = np.concatenate([coding[strand][first + a : first + b] for a, b in exons])
    return float(min(1.0, of_bases.mean()))
