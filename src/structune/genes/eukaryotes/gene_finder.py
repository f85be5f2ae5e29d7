"""The gene finder: protein-coding genes by a conditional random field, with scikit-learn's face."""

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
    """Eukaryotic genes by a conditional random field, with regularisation that it can learn.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss that training minimizes. "log": the negative log-probability of the genes. The others count the
        bases with another label.
    penalty : float or dict, optional
        Regularization strength: the precision of the Gaussian prior of the weights. One number, or one per
        group name (the usual one for others). By default tuned; without a tuner what was best on three
        organisms, and 1 for other groups. It may be 0 beside `l1`.
    groups : {"kind", "single", "separate"} or callable
        Which weights share a regularization strength. "kind": those of one kind of feature (scales, each
        signal, words of each length, ...). "single": all. "separate": none. Or those that a function of a
        weight's name gives the same group name.
    l1 : float, dict, or "auto"
        Weight of an l1 penalty, which makes weights exactly zero: ``l1 |w|`` beside half the penalty times
        w^2. One number, or one per group name (0 for others), beside no tuner but "grid"; or "auto": one
        number is learned together with the precisions, by tuning="implicit". Needs a smooth loss.
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        How the regularization strength of each group of weights is chosen. "auto" is "implicit", or None with
        `penalty`, `l1` and the like (see `StructuredEstimator`). "implicit" and "direct" need the log loss.
    center : "pretrained", GeneFinder or None
        Gene finder whose weights the prior has its mean at. "pretrained": what three organisms have in
        common. It gives the means of scales, edges and lengths of exons, with the features "full" and a log
        loss; others are zero. None: half for scales, and zero. Trees of tasks have none.
    features : {"full", "paper"}
        Set of features. "full": words of one, three and six bases, those around starts, stops and splice
        sites, and lengths of exons and introns are counted in the training genes; what is learned is how much
        each kind counts (`Scaling`), and how signals and lengths deviate. "paper": bases and words of six by
        coding position, each with a weight of its own, and introns and genes (figure 5 of Chen et al. 2009).
    strands : {"both", "forward"}
        Strands on which genes are predicted and learned.
    donors : sequence of {"GT", "GC"}
        First two bases of introns; several may be given.
    constraints : None, "validation", or a ValidationConstraints
        Constraints that training meets (Chen et al. 2009): see `structune.learning.ValidationConstraints`.
        "validation" is one with its defaults. Log loss only. Where no weights find all genes of a part, the
        weights shrink until scores differ little, and probabilities say nothing then. With `tuning`,
        precisions are tuned first, without the constraints.
    flank : int
        Number of bases around each gene that training uses. Use more if no gene is unknown there.
    closed : bool
        Whether predicted genes lie within their sequences. If not, they may go beyond the ends.
    random_state : int
        Random seed of held-out splits and validation sets.
    cv : float, int, or splitter, optional
        Share of the examples that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2. Or a splitter of scikit-learn, or a list of its splits.
    warm_start : bool
        Start at the weights of the previous fit; "auto" keeps its precisions, and other tuners start anew.
    verbose : int
        Amount of progress output. 1 shows progress bars on a terminal, 2 keeps a line per iteration.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.
    run : Run, optional
        Where `fit` computes, for how long, and in which file it keeps its state: see `structune.running.Run`.

    Attributes
    ----------
    introns_ : (int, int)
        The shortest intron, as learned from the training genes, and the longest whose length has a weight
        with the features "full".
    skipped_ : list of Skipped
        Training genes that were left out, and why.
    graph_ : ExonGraph
        The structure.
    options_ : dict
        Features, strands and donors that it was made with.
    has_introns : bool
        Whether genes have introns: True. It is False for the other finders.
    genetic_code : (int, None)
        NCBI's number of the genetic code, 1, all start codons of which may begin a protein.
    constraint_values_, multipliers_ : ndarray, shape (n_sets,)
        With `constraints`: what their `gamma` bounds, and the multipliers of its excess.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        What every fit keeps: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    Genes are those of figure 5 of Chen, Chen, Brent & Tenney (2009), and a little more: of one transcript,
    from ATG to the first stop codon in frame, with introns from GT to AG, which may split both. There are no
    untranslated exons, genes within genes or alternative transcripts. Training sequences begin and end
    between genes.

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
        """Learn from annotated sequences.

        Parameters
        ----------
        X : list of AnnotatedSequence, or of str
            Nucleotides in upper or lower case; U counts as T, letters other than these as unknown bases.
        y : list of lists of Transcript, optional
            The genes of each sequence, if X has none.
        sample_weight : array-like, shape (n_sequences,), optional
        groups : array-like, shape (n_sequences,), optional
            Genes of sequences of one group stay on one side of every held-out split; of ten groups or more,
            tables of the features "full" leave out whole ones.
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
            raise DataError(f"found blocks of {n} genes, and then of {done}: expected the same twice")
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
        """The most probable genes of each sequence.

        Parameters
        ----------
        X : list of str or AnnotatedSequence
        tracks : list of ndarray, optional
            As in `fit`.
        hints : list of lists of Hint, optional
            What else is known of each sequence, as `read_hints` reads it.
        hint_weight : float
            What an intron of ten reads and more, or a hundred bases of a CDS, adds to the score of the genes
            that have it, in log odds, up to 1000; with less support less, by its logarithm. Several hints of
            a site or base count as the best of them.
        avoid : list of lists of (int, int), optional
            Start and end of what has no coding base, of each sequence, as `read_regions` reads them.
        unused : dict of str to Counter of str, optional
            Gets how many "hints", and regions to "avoid", have no effect, by the reason, without a warning.

        Returns
        -------
        list of tuples of Transcript
            By start; the score of each is the mean probability of its bases being coding on its strand, None
            with losses other than "log". A gene that goes on beyond an end of its sequence is marked as
            `partial`; it has 60 known coding bases or more there.

        Warns
        -----
        UnusedEvidenceWarning
            Some hints or regions have no effect: the model has no such genes, or they lie beyond the end.
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
        """F1 of exons, both ends of which must be right.

        Parameters
        ----------
        X, y, tracks
            As in `fit`.
        """
        annotated = annotated_sequences(X, y)
        return exon_f1(annotated, self.predict(annotated, tracks))

    @property
    def needs_tracks(self) -> bool:
        """Whether predictions ask for numbers that come with each base."""
        return self.graph_.weights.n_tracks > 0

    # --- files --------------------------------------------------------------------------------------------

    @classmethod
    def pretrained(cls, organism: str = training.IN_COMMON) -> GeneFinder:
        """A finder that comes with structune.

        Parameters
        ----------
        organism : {"fly", "a_thaliana", "c_elegans", "eukaryotes"}
            *Drosophila melanogaster*, *Arabidopsis thaliana*, *Caenorhabditis elegans*; or what they have in
            common, which finds few genes before it is adapted to a genome (`structune.genes.adapt`).

        Raises
        ------
        DataError
            No such finder.
        ModelFileError
            The installation is without it.
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
            raise ModelFileError("the weights are those of another gene model")
        graph = finder._graph(introns, n_tracks)
        if finder.features == "full":
            graph = ExonGraph(graph.weights, Scaling(graph.weights, training.checked_tables(arrays, graph)))
        if graph.n_weights != len(names) or graph.weight_names() != names:
            raise ModelFileError("the weights are those of another gene model")
        finder._unpack_fit(graph.n_weights, header, arrays)
        finder.set_params(**options)
        finder._keep_graph(graph, introns)
        finder.skipped_ = []
        return finder
