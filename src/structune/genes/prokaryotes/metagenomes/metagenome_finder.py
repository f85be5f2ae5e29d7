"""The gene finder for metagenomes: contigs of many unknown organisms."""

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
    """Find genes on contigs of unknown bacteria and archaea, each contig by itself.

    Training genomes show how the frequencies of hexamers (two neighboring codons) in genes depend on the GC
    content, and how organisms deviate from that. The frequencies for a contig combine three sources: its GC
    content, the organisms that its genes resemble, and its own hexamers. Start codons are scored by the
    signals of the most similar organism. The weights are trained on pieces of the genomes, in two fits. The
    first takes the frequencies from the other genomes; the second adds those of the genes in the piece.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes. "log": negative log-probability of the annotated genes.
        "margin" and "ramp": the cost of a prediction is its number of wrong and missing starts and stops.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss. It is the precision
        (inverse variance) of a Gaussian prior. A dict maps group names to numbers. By default 3 for gaps
        between genes, and 1 for other groups. 0 is allowed only for groups with an `l1` above 0.
    groups : "kind", "single", "separate", or callable
        Groups of weights that share a regularization strength. "kind": one group per type of feature
        (hexamers, ends of contigs, start codons, ribosome-binding sites, lengths, bases around starts, gaps
        between genes). "single": one group for all weights. "separate": one group per weight. A callable
        takes the name of a weight and returns the name of its group.
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        Method that chooses the regularization strength of each group of weights. "auto" and None use
        `penalty`, but with l1="auto", "auto" means "implicit". "implicit" and "direct" need the log loss.
    cv : float, int, or splitter, optional
        Share of the pieces that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2 folds. All pieces of an organism are held out together. Or a scikit-learn splitter, or
        a list of its splits.
    warm_start : bool
        Start from the weights of the previous fit. Has no effect with a tuner.
    random_state : int
        Random seed of the pieces and held-out splits.
    run : Run, optional
        Where `fit` runs, its time limit, and its checkpoint file: see `structune.running.Run`. The time limit
        holds for each of the two fits. The first one has no checkpoint.

    Attributes
    ----------
    graph_ : ContigGraph
        The structure of the model.
    composition_ : Composition
        Hexamer frequencies of the training organisms.
    starts_ : tuple of StartModel or None
        For each organism, the model that chooses start codons on contigs that resemble it, or None if there
        is no such model and the weights choose them.
    skipped_ : list of Skipped
        Training genes that were skipped, with the reasons.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results that every fit keeps: see `structune.learning.StructuredEstimator`.
    """

    is_of_many = True
    _auto = None, "metagenome finders have few weights and suitable default penalties"
    _usual_penalty: ClassVar = {"gaps": 3.0}
    graph_: ContigGraph = field(init=False)
    composition_: Composition = field(init=False)
    starts_: tuple[StartModel | None, ...] = field(init=False)

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit the model to genomes of three or more organisms in which all genes are annotated.

        Parameters
        ----------
        X : list of AnnotatedSequence, or of str
            Sequences in upper or lower case. U counts as T, and other IUPAC codes as unknown bases.
        y : list of lists of Transcript, optional
            Genes of each sequence, if X has none.
        groups : array-like, shape (n_sequences,), optional
            Organism of each sequence. By default each sequence is an organism of its own.

        Raises
        ------
        DataError
            A sequence cannot be used, there are fewer than three organisms, or an organism has no genes.

        Warns
        -----
        SkippedGenesWarning
            Some genes cannot be used for training: see `skipped_`.
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
            raise DataError(f"training needs at least {_FEWEST} organisms, but there are {len(organisms)}")
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
        """Raise `CapabilityError`: each example depends on all organisms, so one shard is not enough."""
        raise CapabilityError("a MetagenomeFinder does not train on folders of shards: use fit with genomes")

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
        """Load a pretrained model, from seven bacteria and six archaea with genetic code 11.

        Parameters
        ----------
        X : list of str or AnnotatedSequence, optional
            A genome. The model then uses the genetic code that suits it (`suited_code`).
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
                    f"the log-probabilities of words exceed {_MOST_LOG}: the file is damaged"
                )
        finder.composition_ = Composition(**words)
        finder.starts_ = tuple(unpack(arrays, f"start_{k}_") for k in range(len(words["own"])))
        return finder
