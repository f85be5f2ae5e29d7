"""The segment tagger: a semi-Markov CRF with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np

from structune.errors import DataError, ModelFileError
from structune.files.models import Arrays, check_array, check_keys, pack_names, unpack_names
from structune.learning.estimator import Encoded
from structune.learning.parameters import Range, check_number, parameters
from structune.structure import IntArray, check_weights
from structune.tagging.features.attributes import as_table
from structune.tagging.features.segments import SegmentFunction, SegmentReader, check_gazetteers, forgotten
from structune.tagging.label_predictions import LabelPredictions, LabelSequences, cut
from structune.tagging.structure.labels import OUTSIDE, scheme_of, tags_of, write_labels
from structune.tagging.structure.semi_markov import SemiMarkovChain
from structune.tagging.structure.shard import SegmentShard

Segment = tuple[str, int, int]
_TABLES = ("token", "last", "span")


@parameters
class SegmentTagger(LabelPredictions):
    """Semi-Markov CRF: finds and labels segments, such as names or phrases, with features of whole segments.

    Labels are BIO or BIOES, as `SequenceTagger` takes them. A segment scores what its tokens do, by their
    attributes and whether they begin it; and by its label its length, its last word, its words together, its
    shape, and whether it is an entry of a gazetteer. The first word is an attribute of the token that begins.

    Parameters
    ----------
    loss : {"log", "margin", "ramp"}, or a loss
        Loss that training minimizes. "log": the negative log-probability of the segments. "margin": the
        margin loss with the number of wrong tokens as cost. "ramp": the ramp loss. Others are objects of
        `structune.learning.margin_losses`.
    groups : "template", "single", "separate", or callable
        Which weights share a regularization strength. "template": those of one feature template
        (``segment.text``, ``segment.shape``, ``segment.length``, ... for segments), and the transitions.
        "single": all. "separate": none. Or those that a function of a weight's name gives one group name.
    penalty : float or dict, optional
        Regularization strength: the precision of the Gaussian prior of the weights. One number, or one per
        group name (1 for others). By default tuned, or else 1. It may be 0 beside `l1`.
    l1 : float, dict, or "auto"
        Weight of an l1 penalty, which makes weights exactly zero: ``l1 |w|`` beside half the penalty times
        w^2. One number, or one per group name (0 for others), beside no tuner but "grid"; or "auto": one
        number is learned together with the precisions, by tuning="implicit". Needs a smooth loss.
    tuning : "auto", None, "implicit", "majorize", "direct", "grid", or a tuner
        How the regularization strength of each group of weights is chosen. "auto" is "implicit", or None with
        `penalty`, `l1` and the like (see `StructuredEstimator`). "implicit" and "direct" need the log loss.
    max_length : int, optional
        Largest number of tokens in a segment. Longer segments in training are refused. By default each label
        has the length of its longest segment in training.
    words : str, optional
        Template whose value is a token's word: ``w[0]`` for attributes such as ``w[0]=dog``. By default
        ``w[0]``, ``w`` or ``word``, the first that occurs; without any, words have no features.
    gazetteers : dict of str to collection of str, optional
        Lists of entries by name. A segment matches an entry if its words, joined by blanks, are the entry, in
        the same case. Lists set after `fit` hold in prediction.
    segment_features : callable, optional
        Function that computes features of your own. It is called with the words of a sequence (list of str),
        and start and stop of each segment up to the longest, and returns a list of str such as
        ``"initials=JFK"``. It should be quick. It is no part of model files; set it again after loading.
    boundary : bool
        Whether starts and ends of sequences have weights.
    cv : float, int, or splitter, optional
        Share of the examples that tuning holds out, such as 0.2, or number of cross-validation folds, such as
        5; by default 2. Or a splitter of scikit-learn, or a list of its splits.
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
    classes_ : list of str
        Labels of tokens in BIO.
    segment_types_ : list of str
        Labels of segments.
    coef_ : ndarray, shape (n_weights,)
        Named by ``chain_.weight_names()``.
    chain_ : SemiMarkovChain
    scheme_ : {"bio", "bioes"}
        Of the labels in training, and so of predictions.
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        What every fit keeps: see `structune.learning.StructuredEstimator`.

    Examples
    --------
    >>> from structune import SegmentTagger
    >>> X = [[["w=in"], ["w=New"], ["w=York"]], [["w=by"], ["w=York"]], [["w=New"], ["w=rules"]]]
    >>> y = [["O", "B-LOC", "I-LOC"], ["O", "B-LOC"], ["O", "O"]]
    >>> tagger = SegmentTagger(penalty=0.1).fit(X, y)
    >>> tagger.predict([[["w=by"], ["w=New"], ["w=York"]]])
    [['O', 'B-LOC', 'I-LOC']]
    >>> tagger.predict_segments([[["w=by"], ["w=New"], ["w=York"]]])
    [[('LOC', 1, 3)]]
    """

    _learns_tasks = True
    _natural_groups = "template"
    _ranges: ClassVar = {"max_length": Range(1, whole=True, optional=True)}

    groups: Any = "template"
    max_length: int | None = None
    words: str | None = None
    gazetteers: Mapping[str, Collection[str]] | None = None
    segment_features: SegmentFunction | None = None
    boundary: bool = True

    _gazetteers: Mapping[str, Collection[str]] | None = field(default=None, init=False)  # those of the chain

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from sequences with labelled segments.

        Parameters
        ----------
        X : list of sequences, AttributeTable, or (matrix, lengths)
            As `SequenceTagger.fit` takes it.
        y : list of sequences of str
            Labels in BIO or BIOES; an ``I-x`` that continues nothing begins a segment.
        sample_weight : array-like, shape (n_sequences,), optional
        groups : array-like, shape (n_sequences,), optional
            Sequences of one group stay on one side of every held-out split.

        Raises
        ------
        DataError
            Names the sequence and token that cannot be used.
        """
        return self._fit(self._encode_training(X, y, sample_weight, groups))

    def _encode_training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Encoded:
        self._check_ranges()
        table = as_table(X)
        reader = SegmentReader.of(table.names, self.words, self.gazetteers, self.segment_features)
        chain = SemiMarkovChain.build(
            table, y, max_length=self.max_length, boundary=self.boundary, reader=reader
        )
        scheme = scheme_of(label for labels in y for label in labels)
        return Encoded(chain, chain.encode(table, y, sample_weight), groups, {"scheme_": scheme})

    def _keep_encoded(self, examples: Encoded) -> None:
        self._keep_chain(examples.structure, examples.attributes["scheme_"])

    @property
    def _structure(self) -> SemiMarkovChain:
        return self.chain_

    def _keep_chain(self, chain: SemiMarkovChain, scheme: str) -> None:
        self.chain_, self.scheme_, self._gazetteers = chain, scheme, self.gazetteers
        self.classes_ = list(chain.tags)
        self.segment_types_ = [label for label in chain.labels if label != OUTSIDE]

    # --- prediction ---------------------------------------------------------------------------------------

    def _encode(self, X: Any) -> tuple[SegmentShard, IntArray]:
        """The sequences that have tokens, and the lengths of all."""
        self._check_fitted()
        table = as_table(X)  # with attributes that are not known, too: words that gazetteers have
        self._update_reader()
        full = table.lengths > 0
        return self.chain_.encode(table if full.all() else table.take(full)), table.lengths

    def _update_reader(self) -> None:
        """Take over a function and gazetteers that were set after the fit."""
        if self.chain_.reader.function is not None and self.segment_features is not None:
            self.chain_ = self.chain_.with_reader(function=self.segment_features)
        if self.gazetteers is self._gazetteers:
            return
        entries, known = check_gazetteers(self.gazetteers or {}), self.chain_.reader.gazetteers.keys()
        if new := sorted(entries.keys() - known):
            raise DataError(
                f"gazetteers: found {new[0]!r}, for which the fit has no weights; expected some of "
                f"{sorted(known)}"
            )
        self.chain_ = self.chain_.with_reader(gazetteers=entries)
        self._gazetteers = self.gazetteers

    def _read(self, tags: IntArray) -> list[Segment]:
        """The segments of the tags of one sequence."""
        labels = self.chain_.begins[tags]
        starts = np.flatnonzero(labels >= 0)
        types = [self.chain_.labels[y] for y in labels[starts].tolist()]
        return list(zip(types, starts.tolist(), [*starts[1:].tolist(), tags.size], strict=False))

    def _labelled(self, output: IntArray) -> list[str]:
        segments = self._read(output)
        lengths = [stop - start for _, start, stop in segments]
        return write_labels([kind for kind, _, _ in segments], lengths, self.scheme_)

    def predict(self, X: Any) -> list[list[str]]:
        """The labels of the most probable segments of each sequence, in the scheme of the training set."""
        return LabelSequences(map(self._labelled, self._best_tags(X)))

    def predict_segments(self, X: Any) -> list[list[Segment]]:
        """The most probable segments of each sequence, as (label, start, stop)."""
        return [[one for one in self._read(tags) if one[0] != OUTSIDE] for tags in self._best_tags(X)]

    def _best_tags(self, X: Any) -> list[IntArray]:
        shard, lengths = self._encode(X)
        return cut(self.chain_.best(self.coef_, shard)[0], lengths)

    def segment_probability(self, X: Any, sequence: int, start: int, stop: int, label: str) -> float:
        """Probability that tokens ``start:stop`` of `sequence` are a segment of this label.

        Raises
        ------
        CapabilityError
            A model that was not fitted by log loss.
        DataError
            No such sequence, tokens or label.
        """
        self._require_probabilities()
        check_number("start", start, Range(0, whole=True))
        check_number("stop", stop, Range(0, whole=True))
        shard, k, length = self._encoded_one(X, sequence)
        if not 0 <= start < stop <= length:
            raise DataError(
                f"sequence {sequence} has {length} tokens: found a segment from {start} to {stop}"
            )
        return self.chain_.segment_probability(self.coef_, shard, k, start, stop, label)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """F1 of segments: those with the right label and both ends; 0 if none is there or found."""
        from structune.tagging.metrics import segment_counts

        predicted = self.predict(X)
        weights = check_weights(sample_weight, len(predicted))
        if not weights.any():
            raise DataError(f"found no sentence of weight > 0 among {len(predicted)} to score")
        counts = weights @ segment_counts(y, predicted)
        return float(2 * counts[0] / ((counts[1] + counts[2]) or 1.0))

    # --- files --------------------------------------------------------------------------------------------

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays of a model file; the user's function of segments is left out."""
        self._update_reader()
        chain, reader = self.chain_, self.chain_.reader
        header = {
            "labels": chain.labels,
            "boundary": chain.boundary,
            "words": reader.words,
            "gazetteers": {name: sorted(entries) for name, entries in reader.gazetteers.items()},
            "has_function": reader.function is not None,
            "scheme": self.scheme_,
        }
        arrays = {"longest": chain.longest}
        for name, attributes, table in zip(_TABLES, chain.attributes, chain.tables, strict=True):
            arrays |= {f"{name}_keys": table.keys, **pack_names(name, attributes)}
        return header, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Arrays) -> SegmentTagger:
        labels, longest = header["labels"], arrays["longest"]
        readable = isinstance(labels, list) and labels and all(isinstance(label, str) for label in labels)
        if not readable or len(set(labels)) < len(labels):
            raise ModelFileError(f"found the labels {labels!r:.60}, expected one at least and no two alike")
        check_array(arrays, "longest", np.int64, (len(labels),))
        outside = [n for label, n in zip(labels, longest.tolist(), strict=True) if label == OUTSIDE]
        if longest.min() < 1 or outside not in ([], [1]):
            raise ModelFileError(
                f"found segments of up to {longest.min()} tokens, expected 1 or more; 1 outside"
            )
        n_tags = len(tags_of(labels, longest)[0])
        attributes, keys = list[list[str]](), list[IntArray]()
        for name, n in zip(_TABLES, (n_tags, len(labels), len(labels)), strict=True):
            names = unpack_names(name, arrays)
            if len(set(names)) < len(names):
                raise ModelFileError("two attributes have the same name, expected each once")
            check_keys(arrays, f"{name}_keys", len(names) * n)
            attributes.append(names)
            keys.append(arrays[f"{name}_keys"])
        words = header["words"]
        if words is not None and not isinstance(words, str):
            raise ModelFileError(f"found the template of words {words!r:.60}, expected a str or none")
        reader = SegmentReader(
            words, check_gazetteers(header["gazetteers"]), forgotten if header["has_function"] else None
        )
        chain = SemiMarkovChain(labels, longest, attributes, keys, reader, bool(header["boundary"]))
        tagger = cls()
        tagger._unpack_fit(chain.n_weights, header, arrays)
        tagger.set_params(boundary=chain.boundary, gazetteers=reader.gazetteers or None)
        tagger._keep_chain(chain, "bioes" if header["scheme"] == "bioes" else "bio")
        return tagger
