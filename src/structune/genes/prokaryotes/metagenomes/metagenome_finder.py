"""The gene finder of contigs of many organisms, none of which is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field, fields, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import CapabilityError, DataError, ModelFileError
from structune.files.models import Arrays, check_array, load_shipped
from structune.genes.examples import report
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.inputs import annotated_sequences, of_examples
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.metagenomes import contigs
from structune.genes.prokaryotes.metagenomes.contigs import Composition, ContigGraph, ContigShard, gc_share
from structune.genes.prokaryotes.orf_finder import OrfFinder, suited_code
from structune.genes.prokaryotes.starts import StartModel, pack, unpack
from structune.genes.prokaryotes.structure.candidates import CANDIDATES, OrfRules, OrfShard
from structune.learning.parameters import parameters
from structune.running.monitor import STOPPED
from structune.structure import FloatArray, segment_indices

_FEWEST = 3  # organisms: two are on any line
_MOST_LOG = 50.0  # that files may have: sums of them have exponentials


@parameters
class MetagenomeFinder(OrfFinder):
    """Genes of contigs of many bacteria and archaea, none of which is known.

    Genomes tell how words of two codons in genes follow the share of G and C, and what is an organism's own.
    The words of a contig are those at its share, as in the organisms that its genes are like, and its own;
    its genes begin by the signals of the organism that it is most like. How much words and signals count is
    learned from pieces of the genomes, each with the words of all others.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss that training minimizes. "log": the negative log-probability of the genes. The others count wrong
        starts and stops.
    penalty : float or dict, optional
        Regularization strength: the precision of the Gaussian prior of the weights. One number, or one per
        group name. By default 3 for gaps between genes, and 1 for others. It may be 0 beside `l1`.
    groups : {"kind", "single", "separate"} or callable
        Which weights share a regularization strength. "kind": those of one kind of feature (sums over words,
        ends of contigs, start codons, ribosome-binding sites, lengths, bases around starts, gaps between
        genes). "single": all. "separate": none. Or those that a function of a weight's name gives the same
        group name.
    l1 : float, dict, or "auto"
        Weight of an l1 penalty, which makes weights exactly zero: ``l1 |w|`` beside half the penalty times
        w^2. One number, or one per group name (0 for others), beside no tuner but "grid"; or "auto": one
        number is learned together with the precisions, by tuning="implicit". Needs a smooth loss.
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        How the regularization strength of each group of weights is chosen. "auto" and None fit with
        `penalty`, but "auto" is "implicit" with l1="auto". "implicit" and "direct" need the log loss.
    code : int
        Number of the genetic code at NCBI: 11, or 4 for Mycoplasma and its relatives.
    closed : bool
        Whether predicted genes lie within their sequences. If not, they may go beyond the ends.
    cv : float, int, or splitter, optional
        Share of the pieces that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2. Organisms are held out whole. Or a splitter of scikit-learn, or its splits.
    random_state : int
        Random seed of pieces and of held-out splits.
    warm_start : bool
        Start at the weights of the previous fit. Has no effect with a tuner.
    verbose : int
        Amount of progress output. 1 shows progress bars on a terminal, 2 keeps a line per iteration.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.
    run : Run, optional
        Where `fit` computes, for how long, and in which file it keeps its state: see `structune.running.Run`.
        Each of the two fits has its time budget; the first, without words of contigs' own, keeps no state.

    Attributes
    ----------
    graph_ : ContigGraph
        The structure.
    composition_ : Composition
        Words of the organisms.
    starts_ : tuple of StartModel or None
        What chooses the start codons of genes of contigs that are like each; else the structure does.
    skipped_ : list of Skipped
        Training genes that were left out, and why.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        What every fit keeps: see `structune.learning.StructuredEstimator`.
    """

    is_of_many = True
    _auto = None, "finders for metagenomes have few weights, and precisions that suit them"
    _usual_penalty: ClassVar = {"gaps": 3.0}
    graph_: ContigGraph = field(init=False)
    composition_: Composition = field(init=False)
    starts_: tuple[StartModel | None, ...] = field(init=False)

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Learn from annotated genomes, all genes of which are known.

        Parameters
        ----------
        X : list of AnnotatedSequence, or of str
        y : list of lists of Transcript, optional
            The genes of each sequence, if X has none.
        groups : array-like, shape (n_sequences,), optional
            The organism of each sequence; by default each is one of its own.

        Raises
        ------
        DataError
            Names the sequence that cannot be used; there are fewer than three organisms; one has no genes.

        Warns
        -----
        SkippedGenesWarning
            Some genes cannot be learned from: see `skipped_`.
        """
        loss, graph, sequences = self._make_loss(), self._graph(), annotated_sequences(X, y)
        every = range(len(sequences))
        given = of_examples(groups, sequences, "groups", every)
        genomes: dict[Any, list[AnnotatedSequence]] = defaultdict(list)
        for organism, sequence in zip(every if given is None else given.tolist(), sequences, strict=True):
            genomes[organism].append(sequence)
        organisms = [
            contigs.Organism(genome, graph, np.random.default_rng((self.random_state, k)))
            for k, genome in enumerate(genomes.values())
        ]
        if len(organisms) < _FEWEST:
            raise DataError(f"found {len(organisms)} organisms, expected at least {_FEWEST}")
        pieces = [piece for each in organisms for piece in each.pieces]
        shard, kept = contigs.labelled(graph, pieces)
        of = np.repeat(np.arange(len(organisms)), [len(each.pieces) for each in organisms])[kept]
        skipped = [one for each in organisms for one in each.skipped]
        report(len(shard), skipped)
        encoded, shares = graph.of_contigs(shard), np.array([gc_share(pieces[k][0]) for k in kept])

        def known(w: FloatArray | None) -> ContigShard:
            columns = list[FloatArray]()
            for k in range(len(organisms)):
                mine, others = np.flatnonzero(of == k), organisms[:k] + organisms[k + 1 :]
                part = encoded.take(mine), shares[mine], contigs.composition_of(others)
                found = contigs.with_words(*part) if w is None else contigs.with_own_words(graph, w, *part)
                columns.append(found.columns)
            return replace(encoded, columns=np.concatenate(columns))

        # Two fits. In the first, contigs have the words of other organisms only; its genes tell the words of
        # contigs' own, with which the second fit goes on. Both leave out the organism that a contig is from:
        # the finder meets contigs of organisms that it has not seen.
        run = self.run
        self.run = run and replace(run, checkpoint=None)  # that is of the fit which goes on from this one
        try:
            self._learn(graph, loss, known(None), self._start(graph), of)
        finally:
            self.run = run
        if self.status_ not in STOPPED:
            history, passes = self.history_, self.passes_
            self._learn(graph, loss, known(self.coef_), self.coef_, of)
            self.history_, self.passes_ = history + self.history_, passes + self.passes_
        self.graph_, self.skipped_, self.composition_ = graph, skipped, contigs.composition_of(organisms)
        self.starts_ = tuple(each.starts for each in organisms)
        return self

    def fit_shards(self, folder: Any) -> NoReturn:
        """Refuses: words of an organism are those of others, so that examples are no shards of their own."""
        raise CapabilityError("a finder for metagenomes learns from genomes, not from folders of shards")

    def _graph(self) -> ContigGraph:
        return ContigGraph(OrfRules(self.code))

    def completed(self, shard: OrfShard, letters: Sequence[Letters]) -> ContigShard:
        shares = np.array([gc_share(part) for part in letters])
        encoded = self.graph_.of_contigs(shard)
        return contigs.with_own_words(self.graph_, self.coef_, encoded, shares, self.composition_)

    def _found(self, shard: Any) -> tuple[NDArray[np.int8], FloatArray | None]:
        chosen, scores = super()._found(shard)
        words = shard.columns @ self.graph_.part(self.coef_, "words")
        for k in np.unique(shard.organism).tolist():
            model = self.starts_[k]
            if model is not None:
                mine = np.flatnonzero(shard.organism == k)
                part, places = shard.take(mine), segment_indices(shard.offsets[CANDIDATES], mine)
                own = None if scores is None else scores[places]
                more = not self.closed, words[places]
                chosen[places], own = model.found(self.graph_, part, chosen[places], own, *more)
                if scores is not None:
                    scores[places] = own
        return chosen, scores

    @classmethod
    def pretrained(cls, X: Any = None) -> MetagenomeFinder:
        """A model that comes with structune, of seven bacteria and six archaea of genetic code 11.

        Parameters
        ----------
        X : list of str or AnnotatedSequence, optional
            A genome: the model is for the genetic code that suits it (`suited_code`).
        """
        finder: MetagenomeFinder = load_shipped("structune.genes.prokaryotes.metagenomes")
        finder.set_params(n_jobs=-1)
        return finder if X is None else finder.with_code(suited_code(finder, X))

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._pack()
        arrays |= {f"words_{name}": array for name, array in vars(self.composition_).items()}
        for k, model in enumerate(self.starts_):
            arrays |= pack(model, f"start_{k}_")
        return header, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        finder = super()._from_file(header, arrays)
        words = {each.name: arrays[f"words_{each.name}"] for each in fields(Composition)}
        for name, array in words.items():
            rows = max(array.shape[0], 1) if name == "own" and array.ndim else 2
            check_array(arrays, f"words_{name}", np.float64, (rows, contigs.N_WORDS))
            if np.abs(array).max(initial=0.0) > _MOST_LOG:
                raise ModelFileError(
                    f"found logs of words above {_MOST_LOG}, expected those of probabilities"
                )
        finder.composition_ = Composition(**words)
        finder.starts_ = tuple(unpack(arrays, f"start_{k}_") for k in range(len(words["own"])))
        return finder
