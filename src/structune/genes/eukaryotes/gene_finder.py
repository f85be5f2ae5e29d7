"""The gene finder: protein-coding genes by a conditional random field, with the API of scikit-learn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Self

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, entries, load_shipped, pack_names, unpack_names
from structune.genes.eukaryotes import prediction, training
from structune.genes.eukaryotes.hints import WEIGHT, checked_hints, tell_unused
from structune.genes.eukaryotes.structure.exon_graph import ExonGraph
from structune.genes.eukaryotes.structure.weights import (
    SIGNALS,
    ExonWeights,
    GeneRules,
    Scaling,
    intron_lengths,
)
from structune.genes.examples import GeneExamples, cut_examples, report
from structune.genes.formats.hints import Hint
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript
from structune.genes.inputs import annotated_sequences, exon_f1, of_examples
from structune.learning.estimator import BlockEstimator, Blocks, ConstrainedEstimator, Encoded
from structune.learning.parameters import Range, check_number, parameters
from structune.running.executors import make_executor
from structune.running.memory import batches
from structune.structure import FloatArray, Structure

if TYPE_CHECKING:
    from structune.genes.eukaryotes.structure.shard import ExonShard

ORGANISMS = ("fly", "a_thaliana", "c_elegans", training.IN_COMMON)  # of models that come with structune
# chosen on a part of the training windows of the fly, and on A. thaliana and C. elegans
_PRECISIONS = {"edges": 0.1, "intron lengths": 3.0, "exon lengths": 5.0, **dict.fromkeys(SIGNALS, 20.0)}
_OF_KNOWN_SCALES = 100.0  # chosen on halves of the training windows of the three
_MOST_BASES, _MOST_PIECES = 1 << 19, 64  # that are worked off at once


@parameters
class GeneFinder(ConstrainedEstimator, BlockEstimator):
    """Find eukaryotic genes, with introns, by a conditional random field; the regularization can be tuned.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes. "log": negative log-probability of the annotated genes.
        "margin": margin loss, whose cost is the number of bases with a wrong label. "ramp": the ramp loss,
        which limits the influence of examples that the model cannot fit. Or a loss object, such as
        `structune.learning.MarginLoss`.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss. It is the precision
        (inverse variance) of a Gaussian prior. A dict maps group names to numbers. By default the strengths
        are tuned. Without tuning, groups that have no number get the values that were best on three
        organisms, or 1. 0 is allowed only for groups with an `l1` above 0.
    groups : "kind", "single", "separate", or callable
        Groups of weights that share a regularization strength. "kind": one group per type of feature (scales,
        each signal, words of each length, ...). "single": one group for all weights. "separate": one group
        per weight. A callable takes the name of a weight and returns the name of its group.
    center : "pretrained", GeneFinder or None
        Gene finder whose weights are the mean of the Gaussian prior. "pretrained": the common model of three
        organisms. Only its weights of scales, edges (introns and genes) and exon lengths are used; other
        means are zero. None: a mean of 0.5 for scales, and zero for the rest. Has an effect only with
        features="full" and a log loss, and not in trees of tasks.
    features : {"full", "paper"}
        Set of features. "full": words of one, three and six bases, words around starts, stops and splice
        sites, and lengths of exons and introns, counted in the training genes; training fits a scale for each
        type (`Scaling`), and deviations of signals and lengths. "paper": bases and words of six by codon
        position, each with its own weight, and introns and genes (figure 5 of Chen et al. 2009).
    strands : {"both", "forward"}
        Strands on which genes are trained and predicted.
    donors : sequence of {"GT", "GC"}
        First two bases of introns; several may be given.
    constraints : None, "validation", or a ValidationConstraints
        Constraints that training must meet (Chen et al. 2009). "validation":
        `structune.learning.ValidationConstraints` with its defaults. Needs the log loss. If no weights can
        find all genes of a validation set, the weights shrink and the probabilities become meaningless. With
        `tuning`, penalties are tuned first, without the constraints.
    flank : int
        Number of bases on either side of each gene that training uses. Raise it if all genes are annotated.
    closed : bool
        Whether to predict only genes within their sequence. If False, genes may continue beyond its ends.
    random_state : int
        Random seed of the held-out splits and validation sets.

    Attributes
    ----------
    introns_ : (int, int)
        Two lengths in bases, set from the training genes: the shortest intron that is predicted, and, with
        features="full", the length beyond which all introns share one weight.
    skipped_ : list of Skipped
        Training genes that were skipped, with the reasons.
    graph_ : ExonGraph
        The structure of the model.
    options_ : dict
        Features, strands and donors of the fitted model.
    has_introns : bool
        Whether genes have introns: True here, False for the prokaryotic finders.
    genetic_code : (int, None)
        NCBI number of the genetic code (1), and the start codons that are translated as M. None means all
        start codons of the code.
    constraint_values_, multipliers_ : ndarray, shape (n_sets,)
        With `constraints`: the value that `gamma` bounds, and the Lagrange multiplier, of each set.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results that every fit keeps: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    Genes follow figure 5 of Chen, Chen, Brent & Tenney (2009), with small extensions. A gene has one
    transcript, from ATG to the first stop codon in frame, and introns from GT to AG, which may split the
    start and stop codons. There are no untranslated exons, genes within genes or alternative transcripts.
    Training sequences begin and end between genes.

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

    has_introns = True
    is_of_many = False
    genetic_code = 1, None
    _learns_tasks = True
    _tolerance = 1e-3
    _natural_groups = "kind"
    _shared = (*ConstrainedEstimator._shared, "center")

    center: Any = training.PRETRAINED
    features: str = "full"
    strands: str = "both"
    donors: Sequence[str] = ("GT",)
    flank: int = 500
    closed: bool = False
    graph_: ExonGraph = field(init=False)

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, tracks: Any = None
    ) -> Self:
        """Fit the model to annotated sequences.

        Parameters
        ----------
        X : list of AnnotatedSequence, or of str
            Sequences in upper or lower case. U counts as T, and other IUPAC codes as unknown bases.
        y : list of lists of Transcript, optional
            Genes of each sequence, if X has none.
        sample_weight : array-like, shape (n_sequences,), optional
            Weight of each sequence; 1 by default.
        groups : array-like, shape (n_sequences,), optional
            Group of each sequence. Genes of one group are never split between training and held-out data.
            With ten groups or more, the word counts that score a gene in training leave out its group, too.
        tracks : list of ndarray of shape (n_bases, n_tracks), optional
            Numbers for each base, such as conservation. `predict` then needs them, too.

        Raises
        ------
        DataError
            A sequence cannot be used, which the message names, or no gene is left to train on.

        Warns
        -----
        SkippedGenesWarning
            Some genes cannot be used for training: see `skipped_`.
        """
        self._fit(self._encode_training(X, y, sample_weight, groups, tracks))
        self.graph_ = self.graph_.for_prediction()
        return self

    def _encode_training(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, tracks: Any = None
    ) -> Encoded:
        annotated = annotated_sequences(X, y)
        examples = self._examples(annotated)
        examples.report()
        values, introns = training.checked_tracks(tracks, annotated), intron_lengths(examples.introns)
        parts = None if values is None else [values[s][a:b] for s, a, b in examples.spans]
        graph = self._graph(introns, 0 if values is None else values[0].shape[1])
        source = [s for s, _, _ in examples.spans]
        weights = of_examples(sample_weight, annotated, "weights", source)
        kept = of_examples(groups, annotated, "groups", source)
        shard = training.encoded(graph, examples, parts, weights)
        if self.features == "full":
            tally = training.Tally(graph)
            shard = tally.counted(shard, training.drawn_parts(len(shard), kept, self.random_state))
            graph = tally.scaled_graph()
        return Encoded(graph, shard, kept, {"introns_": introns, "skipped_": examples.skipped})

    def _keep_encoded(self, examples: Encoded) -> None:
        super()._keep_encoded(examples)
        self._keep_graph(examples.structure, self.introns_)  # with the tables of all parts of the examples

    def _examples(self, annotated: Iterable[AnnotatedSequence]) -> GeneExamples:
        check_number("flank", self.flank, Range(0, whole=True))
        self._graph()  # refuses wrong options
        training.check_center(self.center)
        return cut_examples(annotated, self.flank, "+-" if self.strands == "both" else "+", self.donors)

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[ExonShard, None]]:
        def cut() -> Iterator[GeneExamples]:
            return (self._examples(annotated_sequences(block, None)) for block in blocks())

        introns, skipped, n = list[int](), list[Skipped](), 0
        for examples in cut():
            introns += examples.introns
            skipped += examples.skipped
            n += len(examples.sequences)
        report(n, skipped, stacklevel=4)
        lengths = intron_lengths(introns)
        graph = self._graph(lengths)
        tally, parts, done = training.Tally(graph), training.drawn_parts(n, None, self.random_state), 0
        for shard in (training.encoded(graph, each) for each in cut() if each.sequences):
            tables = parts[done : done + len(shard)]
            done += len(shard)
            if done <= n:
                yield tally.counted(shard, tables) if self.features == "full" else shard, None
        if done != n:
            told = "it must return the same examples each time"
            raise DataError(f"blocks() returned {n:,} training genes at first, but {done:,} later: {told}")
        if self.features == "full":
            graph = tally.scaled_graph()
        self._keep_graph(graph, lengths)
        self.skipped_ = skipped

    def fit_shards(self, folder: str | os.PathLike[str]) -> Self:
        super().fit_shards(folder)
        self.graph_ = self.graph_.for_prediction()
        return self

    def _keep_graph(self, graph: ExonGraph, introns: tuple[int, int]) -> None:
        """Keep it with the parameters that it was made by, which may be others in the next fit."""
        self.graph_, self.introns_ = graph, introns
        self.options_ = {"features": self.features, "strands": self.strands, "donors": list(self.donors)}

    def _graph(self, introns: tuple[int, int] = GeneRules.introns, n_tracks: int = 0) -> ExonGraph:
        introns = introns if self.features == "full" else (introns[0], introns[0])
        rules = GeneRules(self.strands, self.donors, introns)
        return ExonGraph(ExonWeights.of(self.features, rules, n_tracks))

    @property
    def _structure(self) -> ExonGraph:
        return self.graph_

    def _origin(self, structure: Structure) -> FloatArray | None:
        """What scales are without evidence; losses that are not smooth have no such mean of the prior."""
        scaling = getattr(structure, "scaling", None)
        if scaling is None or not self._make_loss().smooth:
            return None
        return training.prior_mean(scaling, self.center)

    def _usual_penalties(self, centered: bool) -> Mapping[str, float]:
        is_centered = centered and self.center is not None and self._make_loss().smooth
        return _PRECISIONS | ({"scales": _OF_KNOWN_SCALES} if is_centered else {})

    # --- prediction ---------------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        tracks: Any = None,
        hints: Sequence[Iterable[Hint]] | None = None,
        hint_weight: float = WEIGHT,
        avoid: Any = None,
        unused: dict[str, Counter[str]] | None = None,
    ) -> list[tuple[Transcript, ...]]:
        """Predict the most probable set of genes of each sequence.

        Parameters
        ----------
        X : list of str or AnnotatedSequence
            Sequences. Annotated genes on them are ignored.
        tracks : list of ndarray, optional
            Numbers for each base, as in `fit`.
        hints : list of lists of Hint, optional
            Hints on each sequence. `read_hints` returns them by contig.
        hint_weight : float
            Log odds, up to 1000, that an intron hint with a support of ten or more (such as ten reads) adds
            to the score of genes that agree with it. A CDS hint with this support adds as much per hundred
            bases. Hints with less support add less, in proportion to log(1 + support). Only the best of
            several hints for one site or base counts.
        avoid : list of lists of (int, int), optional
            Regions of each sequence where no coding bases are predicted: start and end of each region,
            0-based and half-open. `read_regions` returns them by contig.
        unused : dict of str to Counter of str, optional
            Dict to fill instead of a warning. For the keys "hints" and "avoid", it gets a Counter with the
            numbers of hints and of regions that have no effect, by reason.

        Returns
        -------
        list of tuples of Transcript
            Genes of each sequence, sorted by start. The score is the mean probability that the bases of the
            gene are coding on its strand; None with losses other than "log". A gene that continues beyond an
            end of its sequence is marked as `partial`; it has at least 60 known coding bases.

        Warns
        -----
        UnusedEvidenceWarning
            Some hints or regions have no effect, because they lie beyond the end of their sequence or
            contradict the rules of the model.
        """
        self._check_fitted()
        sequences = annotated_sequences(X, None)
        values = training.checked_tracks(tracks, sequences, self.graph_.weights.n_tracks)
        known = checked_hints(hints, hint_weight, avoid, sequences, self.graph_.rules, unused)
        shortest = self.introns_[0]
        found = [
            prediction.searched(each, track, of, shortest, self.closed)
            for each, track, of in zip(sequences, values or repeat(None, len(known)), known, strict=True)
        ]
        pieces = (  # only those that may have a gene: there are files of many that have none
            piece
            for each in found
            for piece in prediction.pieces_of(each)
            if prediction.may_have_gene(piece.text, shortest)
        )
        blocks = batches(pieces, lambda piece: len(piece.text), _MOST_BASES, _MOST_PIECES)
        # pieces are worked off in blocks, each by a thread: long and short sequences share them
        genes_of = partial(prediction.found_genes, self.graph_, self.coef_, self.has_probabilities)
        for block in make_executor(self.n_jobs).map(genes_of, blocks):
            for piece, genes, numbers in block:
                prediction.join_genes(piece.of.genes, genes, piece.start)
                piece.of.used.update(numbers)
        if hints is not None or avoid is not None:
            tell_unused(known, [each.used for each in found], unused)
        return [each.named_genes() for each in found]

    def score(self, X: Any, y: Any = None, tracks: Any = None) -> float:
        """Return the F1 of predicted exons, from 0 to 1; an exon is correct if both its ends are.

        Predicted genes that are marked as partial do not count.

        Parameters
        ----------
        X, y, tracks
            As in `fit`.
        """
        annotated = annotated_sequences(X, y)
        return exon_f1(annotated, self.predict(annotated, tracks))

    @property
    def needs_tracks(self) -> bool:
        """Whether `predict` needs `tracks`."""
        return self.graph_.weights.n_tracks > 0

    # --- files --------------------------------------------------------------------------------------------

    @classmethod
    def pretrained(cls, organism: str = training.IN_COMMON) -> GeneFinder:
        """Load a pretrained finder that is included in structune.

        Parameters
        ----------
        organism : {"fly", "a_thaliana", "c_elegans", "eukaryotes"}
            *Drosophila melanogaster*, *Arabidopsis thaliana* or *Caenorhabditis elegans*. "eukaryotes" is
            their common model, which finds few genes until it is adapted to a genome (`structune.adapt`).

        Raises
        ------
        DataError
            There is no such finder.
        ModelFileError
            The model file is missing from the installation.
        """
        if organism not in ORGANISMS:
            raise DataError(f"organism={organism!r}: expected one of {ORGANISMS}")
        finder: GeneFinder = load_shipped("structune.genes.eukaryotes", organism)
        return finder.set_params(n_jobs=-1)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        more = {"introns": list(self.introns_), "n_tracks": self.graph_.weights.n_tracks}
        arrays = pack_names("weight", self.graph_.weight_names())
        if self.graph_.scaling is not None:
            arrays["tables"] = self.graph_.scaling.tables
        return {"genes": self.options_ | more}, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> GeneFinder:
        names = unpack_names("weight", arrays)
        options = entries(header["genes"], features=str, strands=str, donors=list, introns=list, n_tracks=int)
        options["donors"] = tuple(options["donors"])
        n_tracks, introns = options.pop("n_tracks"), training.checked_introns(options.pop("introns"))
        finder = cls(**options)
        if not 0 <= n_tracks <= len(names):  # or its tables may not fit in memory
            raise ModelFileError("the weights do not belong to this gene model: the file is damaged")
        graph = finder._graph(introns, n_tracks)
        if finder.features == "full":
            graph = ExonGraph(graph.weights, Scaling(graph.weights, training.checked_tables(arrays, graph)))
        if graph.n_weights != len(names) or graph.weight_names() != names:
            raise ModelFileError("the weights do not belong to this gene model: the file is damaged")
        finder._unpack_fit(graph.n_weights, header, arrays)
        finder.set_params(**options)
        finder._keep_graph(graph, introns)
        finder.skipped_ = []
        return finder
