"""The segment tagger: a semi-Markov CRF with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np

from structune.errors import DataError, ModelFileError, warn
from structune.files.models import Arrays, check_array, check_keys, pack_names, unpack_names
from structune.learning.estimator import Encoded
from structune.learning.parameters import Range, check_number, parameters
from structune.structure import IntArray, check_weights
from structune.tagging.features.attributes import as_table, n_unnamed
from structune.tagging.features.segments import SegmentFunction, SegmentReader, check_gazetteers, forgotten
from structune.tagging.label_predictions import LabelPredictions, LabelSequences, cut
from structune.tagging.structure.labels import (
    OUTSIDE,
    label_of,
    scheme_of,
    segment_scheme,
    tags_of,
    write_labels,
)
from structune.tagging.structure.semi_markov import SemiMarkovChain
from structune.tagging.structure.shard import SegmentShard

Segment = tuple[str, int, int]
_TABLES = ("token", "last", "span")


@parameters
class SegmentTagger(LabelPredictions):
    """Semi-Markov CRF that finds and labels segments, such as names or phrases, with features of segments.

    Each token has a label in the BIO or BIOES scheme, such as ``B-LOC``. The score of a segment depends on
    the attributes of its tokens, and on whether each token begins the segment or continues it. It also
    depends on the whole segment: its length, last word, text, shape, and the gazetteers that contain it.

    Parameters
    ----------
    max_length : int, optional
        Largest number of tokens in a segment; by default, that of the label's longest training segment.
        Training data with longer segments are refused.
    words : str, optional
        Template whose value is a token's word: ``w[0]`` for attributes such as ``w[0]=dog``. By default the
        first of ``w[0]``, ``w`` and ``word`` that occurs; without any, there are no features of words.
    gazetteers : dict of str to collection of str, optional
        Lists of entries, such as cities, by name. A segment matches an entry if its words, joined by spaces,
        equal the entry, including case. Lists set after `fit` apply to predictions.
    segment_features : callable, optional
        Function that computes features of your own. It takes the words of a sequence (list of str) and the
        start and stop of a segment, and returns a list of str such as ``"initials=JFK"``. It is called for
        every possible segment. Model files do not contain it: set it again after loading.

    Attributes
    ----------
    classes_ : list of str
        Labels of tokens, in the scheme of the training data.
    segment_types_ : list of str
        Labels of segments.
    coef_ : ndarray, shape (n_weights,)
        Weights, in the order of ``chain_.weight_names()``.
    chain_ : SemiMarkovChain
        Structure of the model: labels, attributes, and which weights there are.
    scheme_ : {"bio", "bioes"}
        Scheme of the labels in training, and so of predictions.
    n_columns_ : int or None
        Number of columns of the arrays or the matrix in training, which predictions need, too; else None.
    penalty_, l1_, group_names_, group_sizes_, history_, status_, passes_, extra_
        Attributes of every fitted estimator: see `structune.learning.StructuredEstimator`.

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

    scheme_: str = field(init=False)

    _gazetteers: Mapping[str, Collection[str]] | None = field(default=None, init=False)  # those of the chain

    # --- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model to sequences with labeled segments.

        Parameters
        ----------
        X : list of sequences, AttributeTable, or (matrix, lengths)
            Input as for `SequenceTagger.fit`.
        y : list of sequences of str
            Labels in BIO or BIOES. An ``I-x`` without a segment to continue begins a new one.
        sample_weight : array-like, shape (n_sequences,), optional
            Weight of each sequence; by default 1.
        groups : array-like, shape (n_sequences,), optional
            Group of each sequence. Sequences of one group are never split between training and held-out data.

        Raises
        ------
        DataError
            A sequence, token or parameter is invalid; the message names it (counted from 0).
        """
        self._fit(self._encode_training(X, y, sample_weight, groups))
        self._drop_unused()
        return self

    def _encode_training(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Encoded:
        self._check_ranges()
        table = as_table(X)
        reader = SegmentReader.of(table.names, self.words, self.gazetteers, self.segment_features)
        chain = SemiMarkovChain.build(
            table, y, max_length=self.max_length, boundary=self.boundary, reader=reader
        )
        known = {label for labels in y for label in labels}
        others = {label for label in known - {OUTSIDE} if not label.startswith("S-")}  # segments of one token
        if segment_scheme(known) is None and others:
            told = f"labels such as {min(others)!r} are read as segments"
            warn(f"{told}. If they do not mark segments, use a SequenceTagger")
        attributes = {"scheme_": scheme_of(known), "n_columns_": n_unnamed(table)}
        return Encoded(chain, chain.encode(table, y, sample_weight), groups, attributes)

    def _keep_encoded(self, examples: Encoded) -> None:
        super()._keep_encoded(examples)
        self._keep_chain(examples.structure)

    @property
    def _structure(self) -> SemiMarkovChain:
        return self.chain_

    def _keep_chain(self, chain: SemiMarkovChain) -> None:
        self.chain_, self._gazetteers = chain, self.gazetteers
        self.classes_ = list(chain.tags)
        self.segment_types_ = [label for label in chain.labels if label != OUTSIDE]
        if self.scheme_ == "bioes":
            longer = [label for label, n in zip(chain.labels, chain.longest.tolist(), strict=True) if n > 1]
            self.classes_ += [label_of("E", label) for label in longer]
            self.classes_ += [label_of("S", label) for label in self.segment_types_]

    # --- prediction ---------------------------------------------------------------------------------------

    def _encode(self, X: Any) -> tuple[SegmentShard, IntArray]:
        """The sequences that have tokens, and the lengths of all."""
        self._check_fitted()
        # with attributes that are not known, too: words that gazetteers have
        table = as_table(X, self.n_columns_)
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
                f"gazetteers: the model has no weights for {new[0]!r}, which was not in training. Allowed: "
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
        """Predict the labels of each sequence, in the scheme (BIO or BIOES) of the training data."""
        return LabelSequences(map(self._labelled, self._best_tags(X)))

    def _marginals(self, X: Any, *given: Any) -> list[list[dict[str, float]]]:
        if self.scheme_ == "bio":
            return super()._marginals(X, *given)
        shard, lengths = self._encode(X, *given)
        chain, tags = self.chain_, self.chain_.marginals(self.coef_, shard)  # in BIO
        ends, single = chain.marginals_of_ends(self.coef_, shard)
        inner = np.array([label != OUTSIDE for label in chain.labels])
        longer, single = chain.longest > 1, single[:, inner]
        last = ends[:, longer] - single[:, longer[inner]]  # only segments have more than one token
        tags[:, chain.begin[inner]] -= single
        tags[:, chain.begin[longer] + 1] -= last
        rows = np.maximum(np.hstack((tags, last, single)), 0.0).tolist()
        return cut([dict(zip(self.classes_, row, strict=True)) for row in rows], lengths)

    def predict_segments(self, X: Any) -> list[list[Segment]]:
        """Predict the segments of each sequence as (label, start, stop): tokens start to stop - 1, from 0."""
        return [[one for one in self._read(tags) if one[0] != OUTSIDE] for tags in self._best_tags(X)]

    def _best_tags(self, X: Any) -> list[IntArray]:
        shard, lengths = self._encode(X)
        return cut(self.chain_.best(self.coef_, shard)[0], lengths)

    def segment_probability(self, X: Any, sequence: int, start: int, stop: int, label: str) -> float:
        """Probability that tokens ``start:stop`` of a sequence are a segment with the given label.

        `sequence` is the index of the sequence in `X`, and `start` that of the segment's first token, from 0.
        Unknown labels and places raise `DataError`; a model fitted without the log loss, `CapabilityError`.
        """
        self._require_probabilities()
        for name, value in (("start", start), ("stop", stop)):
            check_number(name, value, Range(0, whole=True))
        shard, k, length = self._encoded_one(X, sequence)
        if not length:
            raise DataError(f"sequence {sequence} is empty, so it has no segment from {start} to {stop}")
        return self.chain_.segment_probability(self.coef_, shard, k, start, stop, label)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the F1 of segments; label and both ends must be correct. It is 0 without segments."""
        from structune.tagging.metrics import segment_counts

        predicted = self.predict(X)
        weights = check_weights(sample_weight, len(predicted))
        if not weights.any():
            raise DataError(f"cannot score {len(predicted)} sequences: none has a weight > 0")
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
            **({"n_columns": self.n_columns_} if self.n_columns_ else {}),
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
            raise ModelFileError(f"the labels must be strings without duplicates, not {labels!r:.60}")
        check_array(arrays, "longest", np.int64, (len(labels),))
        outside = [n for label, n in zip(labels, longest.tolist(), strict=True) if label == OUTSIDE]
        if longest.min() < 1 or outside not in ([], [1]):
            raise ModelFileError(
                "the largest segment length of a label must be at least 1, and that of O must be 1"
            )
        n_tags = len(tags_of(labels, longest)[0])
        attributes, keys = list[list[str]](), list[IntArray]()
        for name, n in zip(_TABLES, (n_tags, len(labels), len(labels)), strict=True):
            names = unpack_names(name, arrays)
            if len(set(names)) < len(names):
                raise ModelFileError("two attributes have the same name")
            check_keys(arrays, f"{name}_keys", len(names) * n)
            attributes.append(names)
            keys.append(arrays[f"{name}_keys"])
        words = header["words"]
        if words is not None and not isinstance(words, str):
            raise ModelFileError(f"the template of words is {words!r:.60}, expected text or null")
        reader = SegmentReader(
            words, check_gazetteers(header["gazetteers"]), forgotten if header["has_function"] else None
        )
        chain = SemiMarkovChain(labels, longest, attributes, keys, reader, bool(header["boundary"]))
        tagger = cls()
        tagger._unpack_fit(chain.n_weights, header, arrays)
        tagger.set_params(boundary=chain.boundary, gazetteers=reader.gazetteers or None)
        tagger.scheme_ = "bioes" if header["scheme"] == "bioes" else "bio"
        tagger.n_columns_ = header.get("n_columns")
        tagger._keep_chain(chain)
        return tagger
