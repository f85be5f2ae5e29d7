"""The gene finder of bacteria and archaea: genes without introns, with scikit-learn's face."""

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
    """Genes of bacteria and archaea by a conditional random field, with regularisation that it can learn.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss that training minimizes. "log": the negative log-probability of the genes. The others count wrong
        starts and stops. "ramp" finds most genes, for annotations have mistakes, but gives no probabilities.
    penalty : float or dict, optional
        Regularization strength: the precision of the Gaussian prior of the weights. One number, or one per
        group name (the usual one for others). By default tuned; without a tuner about what that finds on a
        thousand genes, which serves ten genes too; ten times that for losses of costs, and 1 for groups that
        are no kinds. It may be 0 beside `l1`.
    groups : {"kind", "single", "separate"} or callable
        Which weights share a regularization strength. "kind": those of one kind of feature (codons, words of
        two codons, start codons, ribosome-binding sites, lengths, bases around starts, gaps between genes).
        "single": all. "separate": none. Or those that a function of a weight's name gives one group name.
    l1 : float, dict, or "auto"
        Weight of an l1 penalty, which makes weights exactly zero: ``l1 |w|`` beside half the penalty times
        w^2. One number, or one per group name (0 for others), beside no tuner but "grid"; or "auto": one
        number is learned together with the precisions, by tuning="implicit". Needs a smooth loss.
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        How the regularization strength of each group of weights is chosen. "auto" is "implicit", or None with
        `penalty`, `l1` and the like (see `StructuredEstimator`). "implicit" and "direct" need the log loss.
    code : int
        Number of the genetic code at NCBI: 11, or 4 for Mycoplasma and its relatives.
    closed : bool
        Whether predicted genes lie within their sequences. If not, they may go beyond the ends.
    starts : {"learned", "annotated"}
        How the starts of predicted genes are chosen. "learned": by signals that are learned from at least 200
        training genes, whose starts may be wrong (`StartModel`). "annotated": as the structure has learned
        from the annotated starts. Has no effect on folders of shards and trees of tasks, where genes begin as
        annotated.
    cv : float, int, or splitter, optional
        Share of the examples that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2. An example has about five genes. Or a splitter of scikit-learn, or its splits.
    warm_start : bool
        Start at the weights of the previous fit; "auto" keeps its precisions, and other tuners start anew.
    random_state : int
        Random seed of held-out splits.
    verbose : int
        Amount of progress output. 1 shows progress bars on a terminal, 2 keeps a line per iteration.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.
    run : Run, optional
        Where `fit` computes, for how long, and in which file it keeps its state: see `structune.running.Run`.

    Attributes
    ----------
    graph_ : OrfGraph
        The structure.
    starts_ : StartModel or None
        What chooses the start codons of genes, where it was learned; else the structure does.
    skipped_ : list of Skipped
        Training genes that were left out, and why.
    coef_, penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        What every fit keeps: see `structune.learning.StructuredEstimator`.

    Notes
    -----
    Candidates are the start codons ATG, GTG and TTG on both strands, each with the next stop codon in its
    frame, from 90 bases on. Neighbours may overlap by up to 60 bases, so no gene lies within another. There
    are no other start codons, frameshifts, stop codons that are read through, RNA genes or pseudogenes.
    Sequences are linear: genes across the origin of a circle are not found. In predictions genes may go
    beyond the ends of a sequence, and of a gap in it: ten or more unknown bases in a row.
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
        """Learn from annotated sequences, all genes of which are known.

        Parameters
        ----------
        X : list of AnnotatedSequence, or of str
            Nucleotides in upper or lower case; U counts as T, letters other than these as unknown bases.
        y : list of lists of Transcript, optional
            The genes of each sequence, if X has none.
        sample_weight : array-like, shape (n_sequences,), optional
        groups : array-like, shape (n_sequences,), optional
            Genes of sequences of one group stay on one side of every held-out split.

        Raises
        ------
        DataError
            Names the sequence that cannot be used; or no gene is left.

        Warns
        -----
        SkippedGenesWarning
            Some genes cannot be learned from: see `skipped_`.
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
        """As for all estimators; the sequences of the examples are added to `texts`."""
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
        """Learn from sequences that are encoded, all genes of which are known; refuses those without."""
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
        """A model that comes with structune, of a tree of seven bacteria and six archaea of genetic code 11.

        Parameters
        ----------
        X : list of str or AnnotatedSequence, optional
            A genome: the model is that of the node of the tree that is nearest to it (`nearest_node`), for
            the genetic code that suits it (`suited_code`); else that of the root.
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
