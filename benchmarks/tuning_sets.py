"""Data sets for benchmarks of tuning: what is learned from, how a model is judged, what a peer reaches.

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). Training and test examples
are drawn once, by seed; families of RNA and files of alignments lie on one side.
"""

from __future__ import annotations

import gzip
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from common import crfsuite_trainer
from structune import (
    Classifier,
    GeneFinder,
    ProkaryoticGeneFinder,
    Ranker,
    Regressor,
    RNAFolder,
    SequenceAligner,
    SequenceTagger,
)
from structune.errors import DataError
from structune.files.data_sets import find

USUAL = {  # c1 and c2 of CRFsuite
    "as it comes": (0.0, 1.0),
    "the tutorial of sklearn-crfsuite": (0.1, 0.1),
    "the tutorial of python-crfsuite": (1.0, 0.001),
    "parserator": (0.1, 0.01),
}
Counts = NDArray[np.float64]  # of each test example: loss, parts, and the two parts of the ratio that scores
Strings = list[tuple[Any, list[str]]]  # tokens, and their labels


@dataclass(frozen=True)
class Task:
    """What is learned from, how a fitted estimator is judged, and what the peer reaches, with its choice."""

    sizes: tuple[int, int]
    make: Callable[..., Any]
    train: tuple[Any, ...]
    judge: Callable[[Any], Counts]
    score: str
    peer: Callable[[], tuple[str, Counts]] | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of `fit`


def counts_of(loss: Any, parts: Any, right: Any, of: Any) -> Counts:
    found = np.column_stack(np.broadcast_arrays(loss, parts, right, of)).astype(np.float64)
    return found[np.isfinite(found[:, 0])]  # inf: no output of the model's, whatever its weights


def log_losses(model: Any, shard: Any) -> Counts:
    structure, w = model._structure, model._weights
    known = structure.constants(shard) + structure.score(w, shard)
    return np.asarray(structure.log_partition(w, shard) - known)


# --- corpora ------------------------------------------------------------------------------------------------


def read(file: str) -> bytes:
    return gzip.decompress(find(f"sequence/{file}").read_bytes())


def fields(name: str) -> Strings:
    """Distinct strings by words, in random order; labels are the tags of the fields."""
    found = {}
    for element in ElementTree.fromstring(read(f"{name}.xml.gz")):
        pairs = [(word, part.tag) for part in element for word in (part.text or "").split()]
        if pairs:
            found[tuple(word for word, _ in pairs)] = [tag for _, tag in pairs]
    return drawn([(features(words), labels) for words, labels in found.items()])


def wnut(part: str) -> Strings:
    blocks = read(f"wnut17_{part}.conll.gz").decode().split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n") if "\t" in line] for block in blocks]
    return [(features([row[0] for row in block]), [row[1] for row in block]) for block in rows if block]


def chunks(part: str, n: int | None) -> Strings:
    from conll2000 import labels_of, load

    data = load(part, n)
    columns = zip(data.sentences("w"), data.sentences("pos"), labels_of(data), strict=True)
    return [(features(words, tags), labels) for words, tags, labels in columns]


def drawn(examples: Sequence[Any]) -> list[Any]:
    return [examples[k] for k in np.random.default_rng(0).permutation(len(examples))]


def shape(word: str) -> str:
    word = re.sub(r"\d", "9", re.sub("[a-z]", "a", re.sub("[A-Z]", "A", word)))
    return re.sub(r"(.)\1+", r"\1", word)


def features(words: Sequence[str], tags: Sequence[str] = ()) -> list[dict[str, str]]:
    """By name, of each token."""
    low, n, found = [word.lower() for word in words], len(words), []
    for t, word in enumerate(words):
        row = {"word": word, "lower": low[t], "shape": shape(word)}
        for k in (1, 2, 3):
            row |= {f"prefix{k}": low[t][:k], f"suffix{k}": low[t][-k:]}
        for d in (-2, -1, 1, 2):
            row[f"{d:+}"] = low[t + d] if 0 <= t + d < n else "(none)"
        row |= {f"shape{d:+}": shape(words[t + d]) for d in (-1, 1) if 0 <= t + d < n}
        row |= {f"tag{d:+}": tags[t + d] for d in range(-2, 3) if tags and 0 <= t + d < n}
        found.append(row)
    return found


def as_list(row: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in row.items()]


def as_dict(row: dict[str, str]) -> dict[str, Any]:
    """As parsers of strings have them: with flags, numbers, and words that are keys."""
    named = {name: value for name, value in row.items() if name not in ("word", "lower")}
    word = row["word"]
    more = {"digits": any(map(str.isdigit, word)), "length": min(len(word), 20) / 10}
    return {**named, **more, row["lower"]: True}


def corpus(name: str, n: int, form: Callable[[Any], Any] = as_list) -> Task:
    if name in ("references", "us_addresses"):
        strings = fields(name)
        parts = strings[:n], strings[-250:]
    else:
        parts = (
            (wnut("train"), wnut("test")) if name == "wnut" else (chunks("train", n), chunks("test", None))
        )
    train, test = ([(list(map(form, rows)), y) for rows, y in part] for part in (parts[0][:n], parts[1]))
    return tagging(train, test, whole=name in ("references", "us_addresses"))


def letters(n: int) -> Task:
    """Of handwritten words; a pixel is an attribute."""
    from ocr_letters import Words

    known = Words()
    rows = [[f"pixel={j}" for j in np.flatnonzero(row)] for row in known.images[:, :-1]]  # but the constant
    words = drawn([(rows[end - len(y) : end], y) for end, y in zip(known.ends, known.letters, strict=True)])
    return tagging(words[:n], words[-2000:], whole=False)


def tagging(train: Strings, test: Strings, whole: bool) -> Task:
    """Of strings with labels that training does not have there is no loss: they are left out."""
    from structune.tagging.features.attributes import known_rows

    known = {label for _, y in train for label in y}
    kept = ([pair for pair in part if known.issuperset(pair[1])] for part in (train, test))
    (x, y), (x_test, y_test) = ([[pair[k] for pair in part] for k in (0, 1)] for part in kept)
    sizes = [len(labels) for labels in y_test]

    def judged(losses: Any, predicted: Any) -> Counts:
        right = [[a == b for a, b in zip(*both, strict=True)] for both in zip(predicted, y_test, strict=True)]
        counts = [all(of) if whole else sum(of) for of in right]
        return counts_of(losses, sizes, counts, 1 if whole else sizes)

    def judge(model: Any) -> Counts:
        chain = model.chain_
        shard = chain.encode(known_rows(x_test, chain.names), y_test)
        return judged(log_losses(model, shard), model.predict(x_test))

    def peer() -> tuple[str, Counts]:
        with tempfile.TemporaryDirectory() as folder:
            chosen, tagger = crfsuite(x, y, str(Path(folder) / "model"))
            found = [tagged(tagger, *pair) for pair in zip(x_test, y_test, strict=True)]
        losses, predicted = zip(*found, strict=True)
        return chosen, judged(losses, predicted)

    measure = "strings right" if whole else "tokens right"
    return Task((len(x), len(x_test)), partial(SequenceTagger, n_jobs=1), (x, y), judge, measure, peer)


def crfsuite(x: Any, y: Any, path: str) -> tuple[str, Any]:
    """The best of the usual settings on a fifth, held out, and a tagger that learned with it from all."""
    import pycrfsuite

    order = np.random.default_rng(0).permutation(len(x)).tolist()
    held, rest = order[: len(x) // 5], order[len(x) // 5 :]

    def fitted(which: list[int], name: str) -> Any:
        options = {"max_iterations": 100, "feature.possible_transitions": True}
        part, (c1, c2) = ([x[k] for k in which], [y[k] for k in which]), USUAL[name]
        crfsuite_trainer(*part, c1=c1, c2=c2, **options).train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return tagger

    def heldout(name: str) -> float:
        tagger = fitted(rest, name)
        known = set(tagger.labels())
        return sum(tagged(tagger, x[k], y[k])[0] for k in held if known.issuperset(y[k]))

    best = min(USUAL, key=heldout)
    return f"c1 = {USUAL[best][0]}, c2 = {USUAL[best][1]}", fitted(order, best)


def tagged(tagger: Any, x: Any, y: list[str]) -> tuple[float, list[str]]:
    """The loss of a sequence by CRFsuite, and the labels that it predicts."""
    labels = tagger.tag(x)
    return -float(np.log(max(tagger.probability(y), 1e-300))), labels


# --- RNA, alignments, genes, rankings -----------------------------------------------------------------------


def rna(name: str, n: int, longest: int) -> Task:
    from structune.rna import base_pair_scores, load_rna

    data = load_rna(name)
    if name == "rfam1359":  # families with published structures, which have several sequences
        data = data.take([k for k, of in enumerate(data.families) if data.families.count(of) > 1])
    families = drawn(sorted(set(data.families)))
    first = set(families[: len(families) // 2])
    short = drawn([k for k, sequence in enumerate(data.sequences) if len(sequence) <= longest])
    train = data.take([k for k in short if data.families[k] in first][:n])
    test = data.take([k for k in short if data.families[k] not in first])

    def judge(model: Any) -> Counts:
        found = base_pair_scores(test.structures, model.predict(test.sequences))
        losses = model.log_loss(test.sequences, test.structures)
        sizes = [len(sequence) for sequence in test.sequences]
        return counts_of(losses, sizes, 2 * found.right_true, found.n_true + found.n_predicted)

    examples, options = (train.sequences, train.structures), {"groups": train.families}
    sizes = len(train), len(test)
    return Task(sizes, partial(RNAFolder, n_jobs=1), examples, judge, "F1 of pairs", options=options)


def alignments(name: str, n: int) -> Task:
    """A pair of each file, of the short ones."""
    from alignment_accuracy import pairs_of
    from structune.alignment import alignment_scores, load_protein_alignments

    pairs = pairs_of(drawn(list(load_protein_alignments(name).values())), 1)
    short = np.flatnonzero([max(map(len, pair)) <= 120 for pair in pairs.sequences])[: n + 100]
    train, test = (pairs.where(np.isin(np.arange(len(pairs)), part)) for part in (short[:n], short[n:]))

    def judge(model: Any) -> Counts:
        found = alignment_scores(test.rows, model.predict(test.sequences))
        losses = model.log_loss(test.sequences, test.rows)
        return counts_of(losses, found.n_true, 2 * found.right, found.n_true + found.n_predicted)

    make, examples = partial(SequenceAligner, n_jobs=1), (train.sequences, train.rows)
    return Task((len(train), len(test)), make, examples, judge, "F1 of matches")


def genes(name: str, n: int) -> Task:
    """Genes with introns, one a window; without the center, which has seen these."""
    from gene_prediction import FLANK, splits
    from structune.genes.eukaryotes import training

    train, test = next(splits(name, 1))

    def loss(model: Any, window: Any) -> float:
        try:
            return float(log_losses(model, training.encoded(model.graph_, model._examples([window])))[0])
        except DataError:  # introns shorter than all of the training genes
            return np.inf

    def losses(model: Any) -> Counts:
        return np.array([loss(model, window) for window in test])

    make = partial(GeneFinder, center=None, closed=True, flank=FLANK, n_jobs=1)
    return of_genes(make, train[:n], test, losses, [1] * len(test), "F1 of exons")


def genome(name: str, n: int) -> Task:
    """Genes without introns, about five a piece."""
    from multitask_genes import drawn, pieces_of

    pieces, test = pieces_of(name)
    spans = [[(t.start, t.end, t.strand) for t in piece.transcripts] for piece in test]

    def losses(model: Any) -> Counts:
        return log_losses(model, model.graph_.encode([piece.sequence for piece in test], spans))

    make = partial(ProkaryoticGeneFinder, starts="annotated", n_jobs=1)
    return of_genes(make, drawn(pieces, n, 0)[0], test, losses, list(map(len, spans)), "F1 of genes")


def of_genes(make: Any, train: Any, test: Any, losses: Any, sizes: list[int], measure: str) -> Task:
    from structune.genes import gene_scores

    def judge(model: Any) -> Counts:
        true = {piece.name: piece.transcripts for piece in test}
        found = dict(zip(true, model.predict(test), strict=True))
        # exons, which are whole genes without introns
        n_true, n_found, right, _ = gene_scores(true, found).counts[:, 1].T
        return counts_of(losses(model), sizes, 2 * right, n_true + n_found)

    return Task((len(train), len(test)), make, (train,), judge, measure)


def ranking(fold: int) -> Task:
    from structune.ranking import load_ohsumed, ndcg

    train, _, test = load_ohsumed(fold)

    def judge(model: Any) -> Counts:
        found = ndcg(test.relevance, model.decision_function(test.X), test.queries, 10)
        return counts_of(1 - found, 1, found, 1)

    examples = train.X, train.relevance, train.queries
    sizes = len(set(train.queries)), len(set(test.queries))
    return Task(sizes, partial(Ranker, n_jobs=1), examples, judge, "NDCG@10")


# --- tables -------------------------------------------------------------------------------------------------


def table(name: str, n: int | None = None) -> Task:
    """70 % or `n` examples train, the others test; features are standardised on the training part."""
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.model_selection import StratifiedKFold, train_test_split
    from sklearn.preprocessing import StandardScaler

    from structune.flat import load_uci

    data = load_uci(name)
    is_regression, x = data.task == "regression", getattr(data.X, "toarray", lambda: data.X)()
    strata = None if is_regression else data.y
    x, x_test, y, y_test = train_test_split(x, data.y, train_size=n or 0.7, random_state=0, stratify=strata)
    scaler = StandardScaler().fit(x)
    x, x_test = scaler.transform(x), scaler.transform(x_test)

    def judge(model: Any) -> Counts:
        predicted = model.predict(x_test)
        if is_regression:
            errors, squares = (predicted - y_test) ** 2, (y_test - y_test.mean()) ** 2
            return counts_of(errors, 1, squares - errors, squares)
        chosen = np.searchsorted(model.classes_, y_test)
        losses = -np.asarray(model.predict_log_proba(x_test))[np.arange(len(y_test)), chosen]
        return counts_of(np.minimum(losses, 700.0), 1, predicted == y_test, 1)

    def peer() -> tuple[str, Counts]:
        if is_regression:
            ridge = RidgeCV(alphas=[2.0**k for k in range(-10, 11)]).fit(x, y)
            return f"alpha = {ridge.alpha_:.4g}", judge(ridge)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        options = {"l1_ratios": (0,), "use_legacy_attributes": False, "max_iter": 1000}
        model = LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss", **options).fit(x, y)
        return f"C = {model.C_:.4g}", judge(model)

    make = partial(Regressor if is_regression else Classifier, n_jobs=1)
    return Task((len(y), len(y_test)), make, (x, y), judge, "R2" if is_regression else "accuracy", peer)


TABLES = {
    "two classes": ("australian", "diabetes", "german.numer", "heart", "ionosphere", "splice"),
    "several classes": ("glass", "segment", "vehicle", "vowel", "wine"),
    "regression": ("abalone", "housing", "mpg", "triazines"),
}
SETS: dict[str, Callable[[], Task]] = {
    **{f"references, {n}": partial(corpus, "references", n) for n in (100, 300, 1200)},
    "references as dicts, 600": partial(corpus, "references", 600, as_dict),
    **{f"addresses, {n}": partial(corpus, "us_addresses", n) for n in (100, 300, 900)},
    "addresses as dicts, 600": partial(corpus, "us_addresses", 600, as_dict),
    **{f"WNUT 2017, {n}": partial(corpus, "wnut", n) for n in (500, 3394)},
    **{f"letters, {n}": partial(letters, n) for n in (200, 1000)},
    **{f"chunks, {n}": partial(corpus, "chunks", n) for n in (100, 300, 1000, 8936)},
    "RNA, S151Rfam": partial(rna, "s151rfam", 50, 120),
    "RNA, Rfam": partial(rna, "rfam1359", 60, 90),
    "alignments, SABmark": partial(alignments, "sabre", 15),
    "alignments, PREFAB": partial(alignments, "prefab4", 15),
    "genes, A. thaliana": partial(genes, "a_thaliana", 40),
    "genes, E. coli": partial(genome, "e_coli", 100),
    "OHSUMED, fold 1": partial(ranking, 1),
    "OHSUMED, fold 2": partial(ranking, 2),
    **{f"{name}, {kind}": partial(table, name) for kind, names in TABLES.items() for name in names},
    **{f"{name}, {n}, p > n": partial(table, name, n)
       for name, n in (("sonar", 40), ("dna", 100), ("usps", 200), ("triazines", 40))},
}  # fmt: skip
QUICK: dict[str, Callable[[], Task]] = {
    "addresses, 40": partial(corpus, "us_addresses", 40),
    "RNA, 8": partial(rna, "s151rfam", 8, 60),
    "wine": partial(table, "wine"),
}
