"""Taggers on the command line: how column files are read, and what is printed and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from structune.cli.task import Examples, OwnCommand, Rule, Task
from structune.errors import DataError, ModelFileError
from structune.files.text import plural
from structune.tagging.options import Explaining, Format, Learning, Predicting, Reviewing, Top

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.structure import IntArray
    from structune.tagging.conll import ConllData, Reader
    from structune.tagging.report import LabelReport
    from structune.tagging.scores import TaggingScores
    from structune.tagging.structure.labels import LeftOut

Marginals = Sequence[Sequence[dict[str, float]]] | None
_LINES = 1 << 20  # that are in memory at a time while shards are written
_MARGINAL, _OF_RANK = 120, 250  # bytes for the probability of a label, and for a token of a labelling
_NUMBERS_OF_LABELS = (2, 4, 8)  # rows of scores are gone through by so many at a time


def _show_weights(files: Sequence[str], top: Top) -> int:
    from structune.tagging.scores import print_weights

    for path in files:
        print_weights(path, top.top)
    return 0


def _explain(files: Sequence[str], explaining: Explaining) -> int:
    from structune.tagging.scores import print_explanations

    if len(files) < 2:
        raise DataError("Give a model file and column files: structune explain MODEL FILE...")
    print_explanations(TASK.open(files[0], explaining), files[1:], explaining)
    return 0


def _review(files: Sequence[str], model: Any, reviewing: Reviewing) -> int:
    from sklearn.base import clone

    from structune.cli.files import check_apart, check_targets
    from structune.cli.reports import write_sections_page
    from structune.cli.terminal import print_tables
    from structune.tagging.reviews import review, review_sections, review_tables, suspects_table

    check_targets([], [], reviewing.report)
    check_apart(files, [reviewing.report])
    # `review` trims labels itself, and needs the given ones
    whole = clone(model).set_params(forbidden=None) if model.outside == "trim" else model
    reader, parts, _, table = _read_training(files, reviewing, whole)
    sentences = [(data, k) for data, kept, _ in parts for k in kept.tolist()]
    model.verbose = int(not reviewing.quiet)
    found = review(model, table, [y for _, _, known in parts for y in known], cv=reviewing.folds)
    print_tables(*review_tables(found), suspects_table(found, sentences, reader.columns[0]))
    print(found.curve)
    if reviewing.report is not None:
        suspects = suspects_table(found, sentences, reader.columns[0], is_long=True)
        write_sections_page(reviewing.report, review_sections(found, suspects), str(found.curve))
    return 0


class TaggingTask(Task):
    """Labels of tokens, from column files."""

    estimator = "structune.tagging.tagger:SequenceTagger"
    learns = "to label sequences"
    files = (
        "Column files, also compressed: one token per line, label last, a blank line after each sentence. Or "
        "JSON with spans (spaCy, Prodigy, Doccano, Label Studio), or XML with fields (parserator)."
    )
    inputs = "Column files, or texts in JSON or XML."
    parts = "tokens"
    reading_options = Format
    learning_options = Learning
    predicting_options = Predicting
    space: ClassVar[tuple[str, ...]] = ("forbidden", "outside", "states", "order")
    parameters: ClassVar[tuple[str, ...]] = ("loss", "constraints")
    penalties: ClassVar[tuple[str, ...]] = ("penalty", "l1")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("--outside", needs=("--forbidden",), because="without it no labels are forbidden"),
    )
    evaluates = (
        "Prints precision, recall and F1 of each label, counted in tokens. If the labels are BIO or BIOES, "
        "it also prints them for each segment type, counted as conlleval does."
    )
    predicts = (
        "Label the tokens of column files.",
        "The output has the columns of FILE and a last column with the predicted label, separated by single "
        "spaces, or by tabs if values contain spaces. FILE needs the input columns that the model was "
        "trained with, in the same order; a label column and others may follow. In CoNLL-U files, columns "
        "are found by name; a model with one input column reads FORM. If the model predicts a column of "
        "CoNLL-U, the output is CoNLL-U with this column replaced. For texts in JSON or XML, the output has "
        "tokens and predicted labels, separated by tabs. FILE may be larger than memory. A line "
        "with an error stops the command, after the text before it has been labeled and written.",
        "With --nbest N, each sentence is written up to N times, the most probable labeling first, each "
        "after a line such as '# sentence 1 rank 2 probability 0.012345'.",
    )
    examples: ClassVar[tuple[str, ...]] = (
        "structune train train.txt --model chunker.structune --penalty 2 --test test.txt",
        "structune tune train.txt --model chunker.structune --test test.txt --plot tuning.png",
        "structune shard train.txt shards/",
        "structune evaluate chunker.structune test.txt",
        "structune predict chunker.structune new.txt --marginals > labelled.txt",
        "structune weights chunker.structune --top 10",
        "structune explain chunker.structune new.txt",
        "structune review train.txt --penalty 2 --report review.html",
    )
    own: ClassVar[Mapping[str, OwnCommand]] = {
        "weights": OwnCommand(
            (
                "Print the largest and smallest weights of a tagger.",
                "One table has the transitions between labels; another has the state features, that is, "
                "pairs of attribute and label. A model of order 2 also has a table of trigrams.",
            ),
            "Model of a tagger, or a model file of CRFsuite.",
            (Top,),
            _show_weights,
            metavar="MODEL...",
        ),
        "explain": OwnCommand(
            (
                "Print why a tagger labels the first sentences of column files as it does.",
                "Each token has a row: its label and the runner-up (the next best label) with their "
                "probabilities, the difference of their scores, and the attributes and transitions that "
                "contribute most to it. * stands for the label of the token.",
            ),
            "Model of a tagger, and column files.",
            (Explaining,),
            _explain,
            metavar="MODEL FILE...",
        ),
        "review": OwnCommand(
            (
                "Cross-validate a tagger on its training data: find wrong labels, and see if more data help.",
                "Prints scores on held-out folds, and labels that are improbable under a model that has not "
                "seen them. Also trains on parts of the data. In all, this takes about 12 times as long as "
                "train; --penalty saves the tuning.",
            ),
            files,
            (Reviewing,),
            _review,
            metavar="TRAIN...",
            learns=True,
        ),
    }

    # --- learning -----------------------------------------------------------------------------------------

    def read(self, files: Sequence[str], learning: Learning, model: Any) -> Examples:
        from structune.tagging.structure.labels import told_scheme

        reader, parts, data, table = _read_training(files, learning, model)
        labels = [y for _, _, known in parts for y in known]
        counts = Counter(filter(None, chain.from_iterable(labels)))  # some may be unknown
        told_scheme(counts)
        told = _sizes(len(data), data.n_tokens, len(counts))
        return Examples((table, labels), [("data", told)], header=reader.header())

    def read_shards(self, folder: ShardFolder) -> Examples:
        from structune.tagging.conll import Reader

        header = Reader.of_header(folder.model.extra_, folder.path).header()
        told = _sizes(len(folder), sum(folder.n_parts), len(folder.model.classes_))
        return Examples((), [("data", told)], header=header)

    def shard(
        self, files: Sequence[str], learning: Learning, model: Any, writer: ShardWriter, quiet: bool
    ) -> tuple[ShardFolder, list[tuple[str, str]]]:
        """Read the files twice, block by block: to collect features and labels, and to encode examples."""
        from structune.cli.terminal import Progress
        from structune.tagging.conll import read_training
        from structune.tagging.structure.chain import Chain
        from structune.tagging.structure.labels import LeftOut, told_scheme
        from structune.tagging.tagger import chain_class

        reader, blocks, again = read_training(files, learning, _LINES)
        left_out = LeftOut()

        def examples(stage: str, blocks: Iterable[ConllData], left_out: LeftOut) -> Iterator[Any]:
            with Progress(not quiet, stage=stage, unit="tokens") as progress:
                for data, kept, labels in _within_rules(reader, blocks, model, left_out):
                    if kept.size:
                        yield reader.attributes(data).take(kept), labels
                    progress.advance(data.n_tokens)

        chains, make = list[Chain](), chain_class(model.order)
        for table, labels in examples("features", blocks, left_out):
            chains.append(make.build(table, labels, states=model.states, forbidden=model.forbidden))
            chains = [make.merge(chains, states=model.states, transitions="all")]
        left_out.report(model.forbidden)
        (structure,) = chains
        told_scheme(structure.labels)
        for table, labels in examples("shards", again(), LeftOut()):
            writer.add(structure.encode(table, labels))
        tagger = model.with_structure(structure)
        tagger.extra_ = reader.header()
        folder = writer.finish(tagger)
        told = _sizes(len(folder), sum(folder.n_parts), structure.n_labels)
        return folder, [("data", told), ("attributes", f"{len(structure.attributes):,}")]

    # --- use ----------------------------------------------------------------------------------------------

    def open(self, path: str, options: Any) -> Any:
        from structune.files.models import kind_in_file
        from structune.kinds import kind_of_place
        from structune.tagging.conll import Reader
        from structune.tagging.crfsuite import is_crfsuite

        if is_crfsuite(path):
            told = "is a model of CRFsuite, which does not contain columns and templates"
            raise ModelFileError(f"{path} {told}. Open it with structune.tagging.read_crfsuite in Python")
        try:
            model = super().open(path, options)
        except ModelFileError as error:
            if (kind := kind_in_file(path)) in (None, kind_of_place(self.estimator).word):
                raise
            told = f"structune evaluate {kind} reads this model. structune explain needs a SequenceTagger"
            raise ModelFileError(f"{error}. {told}") from None
        Reader.of_header(model.extra_, path)  # or an error
        return model

    def read_known(
        self, files: Sequence[str], reading: Format, model: Any, header: Any
    ) -> Iterator[tuple[Reader, ConllData]]:
        from structune.tagging.conll import Reader

        reader = Reader.of_header(header, "the model")
        for path in files:
            for data in reader.read_labelled(path, reading):
                yield reader, data

    def score(self, model: Any, known: Iterable[tuple[Reader, ConllData]], scoring: Any) -> TaggingScores:
        from structune.tagging.scores import TaggingScores

        return TaggingScores.of_blocks(model, known)

    def predict(self, model: Any, files: Sequence[str], predicting: Predicting) -> Iterator[str]:
        return self._texts(model, files, predicting)

    def predict_and_report(
        self, model: Any, files: Sequence[str], predicting: Predicting
    ) -> tuple[Iterator[str], LabelReport]:
        from structune.tagging.report import LabelReport

        report = LabelReport(model)
        return self._texts(model, files, predicting, report), report

    def _texts(
        self, model: Any, files: Sequence[str], predicting: Predicting, report: LabelReport | None = None
    ) -> Iterator[str]:
        """The labeled sentences, which are added to the report."""
        from structune.cli.files import binary_source
        from structune.tagging.conll import TOKEN, Reader

        reader, n_before = Reader.of_header(model.extra_, "the model"), 0
        needs_marginals = predicting.marginals or (report is not None and report.has_probabilities)
        token = TOKEN + needs_marginals * _MARGINAL * len(model.classes_)
        token += _OF_RANK * (predicting.nbest or 0)
        for file in files:
            for data in reader.read_inputs(binary_source(file), predicting, token):
                table = reader.attributes(data)
                marginals = model.predict_marginals(table) if needs_marginals else None
                written, ranked = marginals if predicting.marginals else None, []
                if predicting.nbest is None:
                    labels = model.predict(table)
                    text = _labelled_text(data, labels, written)
                else:
                    ranked = model.predict_nbest(table, predicting.nbest)
                    labels = [best for (best, _), *_ in ranked]
                    text = "".join(_ranked_texts(data, n_before, ranked, written))
                yield text
                if report is not None:
                    report.add(data.sentences(reader.columns[0]), labels, marginals, ranked)
                n_before += len(data)

    def warm(self) -> None:
        """Train with the default settings of the commands, and predict in all ways."""
        from structune.kinds import kind_of_place

        make = kind_of_place(self.estimator).estimator_class
        for n in _NUMBERS_OF_LABELS:
            labels = [[f"B-{(s + t) % n}" for t in range(n)] for s in range(n + 3)]
            tokens = [[[f"w={label}", "bias"] for label in sentence] for sentence in labels]
            for tuning in (None, "implicit"):
                tagger = make(tuning=tuning, n_jobs=1).fit(tokens, labels)
            tagger.predict(tokens)
            tagger.predict_marginals(tokens)
            tagger.predict_nbest(tokens, 2)


class SegmentsTask(TaggingTask):
    """Labels of segments, from column files with labels in BIO or BIOES."""

    estimator = "structune.tagging.segment_tagger:SegmentTagger"
    learns = "to find and label segments, such as names"
    about = "Labels must be BIO or BIOES. Whole segments have features too, such as their text and length."
    space = ()
    parameters = ("loss", "max_length", "words")
    penalties = ("penalty", "l1")
    rules = ()
    has_shards = False
    examples = (
        "structune train segments train.txt --model names.structune --test test.txt",
        "structune tune segments train.txt --model names.structune --test test.txt",
        "structune evaluate segments names.structune test.txt",
        "structune predict names.structune new.txt > labelled.txt",
    )
    own: ClassVar[Mapping[str, OwnCommand]] = {}

    def read(self, files: Sequence[str], learning: Learning, model: Any) -> Examples:
        """As for taggers; words are those of the first column."""
        examples = super().read(files, learning, model)
        assert examples.header is not None
        first = f"{examples.header['columns'][0]}[0]"
        if model.words is None and first in examples.header["templates"]:
            model.words = first
        return examples


TASK, SEGMENTS = TaggingTask(), SegmentsTask()


def _sizes(n_sentences: int, n_tokens: int, n_labels: int) -> str:
    return f"{plural(n_sentences, 'sentence')}, {plural(n_tokens, 'token')}, {plural(n_labels, 'label')}"


def _read_training(
    files: Sequence[str], learning: Learning, model: Any
) -> tuple[Reader, list[tuple[ConllData, IntArray, Any]], ConllData, Any]:
    """A reader, what `_within_rules` yields, all data, and the attributes of the sentences to learn from."""
    import numpy as np

    from structune.tagging.conll import joined, read_training
    from structune.tagging.structure.labels import LeftOut

    reader, blocks, _ = read_training(files, learning)
    left_out = LeftOut()
    parts = list(_within_rules(reader, blocks, model, left_out))
    left_out.report(getattr(model, "forbidden", None))
    data = joined([data for data, _, _ in parts])
    rows = np.concatenate([np.isin(np.arange(len(data)), kept) for data, kept, _ in parts])
    table = reader.attributes(data)
    return reader, parts, data, table if rows.all() else table.take(rows)


def _within_rules(
    reader: Reader, blocks: Iterable[ConllData], model: Any, left_out: LeftOut
) -> Iterator[tuple[ConllData, IntArray, Any]]:
    """Each block, its sentences that keep to the model's rules of labels, and the labels of these."""
    from structune.tagging.structure.labels import fit_to_rules, read_segments

    forbidden, outside = getattr(model, "forbidden", None), getattr(model, "outside", "skip")
    for data in blocks:
        given = reader.labels(data)
        if not hasattr(model, "forbidden"):  # of segments
            read_segments(given, data.lengths, data.place)
        kept, labels = fit_to_rules(given, data.lengths, forbidden, outside, left_out, data.place)
        yield data, kept, labels


def _labelled_text(data: ConllData, labels: list[list[str]], marginals: Marginals) -> str:
    from structune.tagging.conll import conll_text, conllu_text

    if data.between is not None:
        return conllu_text(data, labels, marginals and list(map(_probabilities, labels, marginals)))
    data = data.with_column("[label]", labels)
    if marginals is not None:
        data = data.with_column("[probability]", list(map(_probabilities, labels, marginals)))
    try:
        return conll_text(data)
    except DataError as error:
        raise DataError(f"{data.name}: {error}. Use --separator tab to read and write tabs") from None


def _ranked_texts(data: ConllData, n_before: int, ranked: list[Any], marginals: Marginals) -> Iterator[str]:
    """Each sentence with its most probable labelings, each after a line with its probability."""
    sentences = zip(*(data.sentences(name) for name in data.columns), strict=True)
    for s, (columns, labellings) in enumerate(zip(sentences, ranked, strict=True)):
        for rank, (labels, probability) in enumerate(labellings, start=1):
            new = [labels] if marginals is None else [labels, _probabilities(labels, marginals[s])]
            yield f"# sentence {n_before + s + 1} rank {rank} probability {probability:.6g}\n"
            yield "".join(f"{data.separator.join(row)}\n" for row in zip(*columns, *new, strict=True))
            yield "\n"


def _probabilities(labels: Sequence[str], rows: Sequence[dict[str, float]]) -> list[str]:
    return [f"{row[label]:.4f}" for label, row in zip(labels, rows, strict=True)]
