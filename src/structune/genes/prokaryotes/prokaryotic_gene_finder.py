"""The gene finder of bacteria and archaea: genes without introns, with the API of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError
from structune.files.models import Arrays, load_shipped
from structune.genes.examples import report
from structune.genes.formats.record import Skipped
from structune.genes.inputs import annotated_sequences, of_examples
from structune.genes.nucleotides import encode_letters
from structune.genes.prokaryotes.examples import cut_between, cut_genomes
from structune.genes.prokaryotes.orf_finder import OrfFinder, nearest
from structune.genes.prokaryotes.starts import StartModel, learn_starts, pack, unpack
from structune.genes.prokaryotes.structure.candidates import OrfShard
from structune.learning.estimator import BlockEstimator, Blocks, Encoded
from structune.learning.parameters import parameters
from structune.structure import FloatArray

_STARTS, _TRUST = ("learned", "annotated"), 4.0


@parameters
class ProkaryoticGeneFinder(OrfFinder, BlockEstimator):
    """Find genes of bacteria and archaea by a conditional random field; the regularization can be tuned.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss function that training minimizes. "log": negative log-probability of the annotated genes.
        "margin": margin loss, whose cost is the number of wrong and missing starts and stops. "ramp": the
        ramp loss, which limits the influence of mistakes in the annotation. It finds the most genes, but
        gives no probabilities.
    penalty : float or dict, optional
        L2 regularization strength: each weight w adds ``penalty * w**2 / 2`` to the loss. It is the precision
        (inverse variance) of a Gaussian prior. A dict maps group names to numbers. By default the strengths
        are tuned. Without tuning, groups that have no number get default values, close to those tuned on a
        thousand genes; with the losses "margin" and "ramp", ten times as much. Groups other than those of
        groups="kind" get 1. 0 is allowed only for groups with an `l1` above 0.
    groups : "kind", "single", "separate", or callable
        Groups of weights that share a regularization strength. "kind": one group per type of feature (codons,
        hexamers, that is, two neighboring codons, start codons, ribosome-binding sites, lengths, bases around
        starts, gaps between genes). "single": one group for all weights. "separate": one group per weight. A
        callable takes the name of a weight and returns the name of its group.
    starts : {"learned", "annotated"}
        Model that chooses the starts of predicted genes. "learned": a model of start signals, trained without
        the annotated starts, which may be wrong; needs 200 training genes (`StartModel`). "annotated": the
        weights that training fits to the annotated starts. Folders of shards and trees of tasks always use
        "annotated".
    cv : float, int, or splitter, optional
        Share of the examples that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2 folds. Or a scikit-learn splitter, or its splits. An example has about five genes.

    Attributes
    ----------
    graph_ : OrfGraph
        The structure of the model.
    starts_ : StartModel or None
        Model that chooses the start codons of genes; None if there is none, and the weights choose them.
    skipped_ : list of Skipped
        Training genes that were skipped, with the reasons.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Results that every fit keeps: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    Candidate genes begin with ATG, GTG or TTG on either strand, end with the next stop codon in frame, and
    have at least 90 bases. Neighbors may overlap by up to 60 bases, so no gene lies within another. There are
    no other start codons, frameshifts, readthrough of stop codons, RNA genes or pseudogenes. Sequences are
    linear: genes across the origin of a circular genome are not found. Predicted genes may continue beyond
    the ends of a sequence, and into a gap (ten or more unknown bases in a row).
    """

    _learns_tasks = True
    # about what tuning finds on a thousand genes of Escherichia coli or Halobacterium salinarum; and what
    # predicts best on thirteen genomes
    _usual_penalty: ClassVar = {
        "codons": 20.0,
        "hexamers": 1000.0,
        "starts": 0.3,
        "ribosome site": 3.0,
        "lengths": 1.0,
        "context": 20.0,
        "gaps": 5.0,
    }
    _times_for_costs = 10.0

    starts: str = "learned"
    starts_: StartModel | None = field(default=None, init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to sequences in which all genes are annotated.

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

        Raises
        ------
        DataError
            A sequence cannot be used, which the message names, or no gene is left to train on.

        Warns
        -----
        SkippedGenesWarning
            Some genes cannot be used for training: see `skipped_`.
        """
        texts = list[str]()
        examples = self._encode_training(X, y, sample_weight, groups, texts)
        self._fit(examples)
        if self.starts == "learned":
            letters = [encode_letters(text, "example") for text in texts]
            shard = examples.shard
            try:
                self.starts_ = learn_starts(shard, shard.chosen, letters, _TRUST)
            except KeyboardInterrupt:  # weights are learned: they are not to be lost
                self.status_ = "interrupted"
        return self

    def _encode_training(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, texts: Any = None
    ) -> Encoded:
        """Encode training data; the sequences of the examples are added to `texts`."""
        if self.starts not in _STARTS:
            raise DataError(f"starts={self.starts!r}: expected one of {_STARTS}")
        annotated, graph = annotated_sequences(X, y), self._graph()
        examples = cut_genomes(annotated, graph.rules)
        examples.report()
        weights = of_examples(sample_weight, annotated, "weights", examples.sources)
        kept = of_examples(groups, annotated, "groups", examples.sources)
        shard = graph.encode(examples.sequences, examples.genes, weights)
        if texts is not None:
            texts += examples.sequences
        return Encoded(graph, shard, kept, {"graph_": graph, "skipped_": examples.skipped, "starts_": None})

    def fit_known(self, shard: OrfShard) -> Self:
        """Fit the model to a shard in which all genes are marked. A `DataError` if it has no genes."""
        examples = cut_between(shard)
        report(len(examples), [])
        return self._fit(Encoded(self.graph_, examples, None, {"skipped_": [], "starts_": None}))

    def _encoded_blocks(self, blocks: Blocks) -> Iterator[tuple[OrfShard, None]]:
        graph, skipped, n = self._graph(), list[Skipped](), 0
        for block in blocks():
            examples = cut_genomes(annotated_sequences(block, None), graph.rules)
            skipped += examples.skipped
            n += len(examples.sequences)
            if examples.sequences:
                yield graph.encode(examples.sequences, examples.genes), None
        report(n, skipped, stacklevel=4)
        self.graph_, self.skipped_, self.starts_ = graph, skipped, None

    def _found(self, shard: OrfShard) -> tuple[NDArray[np.int8], FloatArray | None]:
        chosen, scores = super()._found(shard)
        if self.starts_ is None:
            return chosen, scores
        return self.starts_.found(self.graph_, shard, chosen, scores, not self.closed)

    @classmethod
    def pretrained(cls, X: Any = None) -> ProkaryoticGeneFinder:
        """Load a pretrained model, from a tree of seven bacteria and six archaea with genetic code 11.

        Parameters
        ----------
        X : list of str or AnnotatedSequence, optional
            A genome. The model is then that of the node of the tree that is nearest to it (`nearest_node`),
            with the genetic code that suits it (`suited_code`). By default the model of the root.
        """
        tree = load_shipped("structune.genes.prokaryotes")
        root: ProkaryoticGeneFinder = tree.model(tree.tree_.root)
        if X is None:
            return root.set_params(n_jobs=-1)
        node, code = nearest(tree, X)
        finder: ProkaryoticGeneFinder = tree.model(node)
        return finder.with_code(code).set_params(n_jobs=-1)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        header, arrays = super()._pack()
        return header, arrays | pack(self.starts_, "start_")

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        finder = super()._from_file(header, arrays)
        finder.starts_ = unpack(arrays, "start_")
        return finder
