"""What pages say of trainings and of predictions of each kind."""

import numpy as np
import pytest

from structune import RNAFolder, SequenceAligner, SequenceTagger
from structune.alignment.examples import KnownPair
from structune.alignment.metrics import alignment_scores
from structune.alignment.scores import PairScores
from structune.genes.formats.record import Transcript
from structune.genes.scores import GeneEvaluation
from structune.html_reports.page import Fold, Picture, Table, Text, Tokens, Verbatim
from structune.html_reports.training import training_sections
from structune.ranking.scores import Query, RankingScores
from structune.rna.examples import Example
from structune.rna.formats.sequences import RNARecord
from structune.rna.scores import FoldingScores
from structune.tagging.scores import error_sections

X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]], [["w=dog"]]] * 4
Y = [["DET", "NOUN"], ["DET", "NOUN"], ["NOUN"]] * 4


def of(sections, kind):
    """Blocks of a kind, within folds too."""
    found = []
    for block in (block for section in sections for block in section.blocks):
        inner = block.blocks if isinstance(block, Fold) else [block]
        found += [each for each in inner if isinstance(each, kind)]
    return found


def titles(sections):
    return [section.title for section in sections]


@pytest.mark.parametrize(
    ("settings", "n_pictures"), [({}, 1), ({"tuning": "majorize"}, 2), ({"tuning": "grid"}, 1)], ids=str
)
def test_training(settings, n_pictures):
    tagger = SequenceTagger(**{"tuning": None, **settings}, verbose=0).fit(X, Y)
    sections = list(training_sections(tagger))
    assert titles(sections) == ["Course of training", "Regularization by group"]
    assert len(of(sections, Picture)) == n_pictures
    (table,) = of(sections, Table)
    falling = np.argsort(-tagger.penalty_, kind="stable")
    assert [row[0] for row in table.rows] == [tagger.group_names_[g] for g in falling]
    assert sum(int(row[1]) for row in table.rows) == tagger.coef_.size
    assert all(left >= 0 and left + width <= 100 + 1e-6 for left, width in table.bars)


def test_bars_begin_at_one():
    tagger = SequenceTagger(tuning=None, groups="separate", verbose=0).fit(X, Y)
    tagger.penalty_ = np.array([8.0, 1.0, 0.0, *[0.5] * (len(tagger.penalty_) - 3)])
    (table,) = of(training_sections(tagger), Table)
    assert table.bars[:2] == [(25.0, 75.0), (25.0, 0.0)]
    assert table.bars[2] == (0.0, 25.0)
    assert table.bars[-1] == (25.0, 0.0)  # no precision is no bar
    tagger.group_names_ = tuple(f"g{k}" for k in range(1000))
    tagger.group_sizes_, tagger.penalty_ = np.ones(1000, int), np.arange(1.0, 1001.0)
    (table,) = of(training_sections(tagger), Table)
    assert table.title == "Penalties: the 100 highest and the 100 lowest of 1,000 groups"
    assert [row[0] for row in (table.rows[0], table.rows[-1])] == ["g999", "g0"]


def test_errors_of_taggers():
    tokens = [["the", "dog"], ["a", "dog", "eats"], []]
    true, predicted = [["D", "N"], ["D", "N", "V"], []], [["D", "N"], ["N", "V", "V"], []]
    sections = list(error_sections(tokens, true, predicted))
    assert of(sections, Text)[0].text == "2 of 5 labels are wrong, in 1 of 3 sentences."
    (table,) = of(sections, Table)
    assert sorted(table.rows) == [("D", "N", "a", "1", "50.0%"), ("N", "V", "dog", "1", "50.0%")]
    (shown,) = of(sections, Tokens)
    assert shown.tokens == [("a", "D", "N"), ("dog", "N", "V"), ("eats", "V", "V")]


def test_of_very_long_sentences_a_part_is_shown():
    for error, start in ((5000, 4990), (3, 0), (9999, 9700)):
        true, predicted = ["D"] * 10_000, ["D"] * 10_000
        predicted[error] = "N"
        (_, section) = error_sections([["w"] * 10_000], [true], [predicted])
        assert section.blocks[1] == Text(f"Sentence 1, tokens {start + 1:,} to {start + 300:,} of 10,000")
        (shown,) = of([section], Tokens)
        assert len(shown.tokens) == 300
        assert shown.tokens[error - start] == ("w", "D", "N")


@pytest.mark.parametrize("labels", [[], [[]], [["D"]]])
def test_taggers_without_errors(labels):
    sections = list(error_sections(labels, labels, labels))
    assert titles(sections) == ["Errors"]
    assert len(sections[0].blocks) == 1


NAMES, SEQUENCES = ["right", "wrong", "empty"], ["GGGGAAAACCCC", "GGGGAAAACCCC", ""]
KNOWN, PREDICTED = ["((((....))))", "..((....))..", ""], ["((((....))))", "............", ""]


@pytest.mark.parametrize("loss", ["log", "margin"])
def test_structures_are_drawn_worst_first(loss):
    folder = RNAFolder(loss=loss, tuning=None, penalty=1.0, verbose=0).fit(SEQUENCES[:2], KNOWN[:2])
    by_gamma = {1.0: PREDICTED} if loss == "log" else None
    examples = [Example(RNARecord(*each), "") for each in zip(NAMES, SEQUENCES, KNOWN, strict=True)]
    sections = list(FoldingScores(folder, examples, PREDICTED, 1.0, by_gamma).sections())
    assert titles(sections) == ["Sequences", "Structures"]
    (table,) = of(sections, Table)
    assert [row[0] for row in table.rows] == ["wrong", "empty", "right"]
    assert table.rows[0][1:] == ["12", "2", "0", "0.000", "0.000", "0.000"]
    folds = of([sections[1]], Picture)
    assert [picture.alt for picture in folds] == [
        *(["known structure of wrong", "predicted structure of wrong"]),
        *(["dot plot of wrong"] if loss == "log" else []),
        *(["known structure of right", "predicted structure of right"]),
        *(["dot plot of right"] if loss == "log" else []),
    ]
    assert [fold.is_open for fold in sections[1].blocks[1:]] == [True, False]


def gene(strand, *exons, name="g"):
    return Transcript("c", strand, exons, f"{name}.t", name)


ANNOTATED = [
    gene("+", (100, 200), (300, 400)),
    gene("-", (1000, 1300)),
    gene("+", (2000, 2300)),
    gene("-", (3000, 3300)),
    gene("+", (90_000, 90_300)),
]
PREDICTED_GENES = [
    gene("+", (100, 200), (300, 400)),
    gene("-", (1000, 1240)),  # its stop codon is at 1000
    gene("+", (2000, 2210), (2250, 2330)),
    gene("+", (3000, 3300)),
]


def gene_sections(annotated, predicted):
    return GeneEvaluation(annotated, predicted, None, None).sections()


def test_errors_of_genes_have_kinds():
    sections = list(gene_sections({"c": ANNOTATED, "d": []}, {"c": PREDICTED_GENES}))
    kinds, every = of(sections, Table)
    assert {(row[0], row[2]) for row in kinds.rows} == {
        ("other start", "1"),
        ("other ends or introns", "1"),
        ("missed", "2"),
        ("not annotated", "1"),
    }
    assert [row[1:] for row in every.rows] == [
        ("other start", "-", "1,001", "1,240"),
        ("other ends or introns", "+", "2,001", "2,330"),
        ("not annotated", "+", "3,001", "3,300"),
        ("missed", "-", "3,001", "3,300"),
        ("missed", "+", "90,001", "90,300"),
    ]
    first, second = of(sections, Picture)  # the most errors first
    assert first.alt == "annotated and predicted genes of c, 1 to 4,300"
    assert second.alt == "annotated and predicted genes of c, 89,001 to 91,300"


def test_genes_on_sequences_without_annotation_are_errors():
    errors, tracks = gene_sections({"c": ANNOTATED}, {"c": ANNOTATED, "d": [gene("+", (0, 90))]})
    assert errors.blocks[0].rows[0][0::2] == ("not annotated", "1")
    assert tracks.blocks[1].caption == "d, 1 to 1,090"


def test_transcripts_with_the_same_coding_parts_count_once():
    twice = [gene("+", (100, 200)), gene("+", (100, 200), name="h")]
    kinds = next(gene_sections({"c": twice}, {"c": [gene("-", (100, 200))] * 2})).blocks[0]
    assert sorted((row[0], row[2]) for row in kinds.rows) == [("missed", "1"), ("not annotated", "1")]


def test_genes_without_errors():
    for genes in ({"c": ANNOTATED}, {"c": []}, {}):
        (section,) = gene_sections(genes, genes)
        assert section.blocks == [Text("All predicted genes agree with the annotation.")]


def test_queries_are_told_worst_first():
    known = {"a": ([0.0, 2.0], 0.5), "b": ([1.0], 1.0), "c": ([0.0, 0.0], 0.0)}
    queries = [Query(name, relevance, [ndcg] * 10) for name, (relevance, ndcg) in known.items()]
    (section,) = RankingScores("letor", queries).sections()
    (table,) = of([section], Table)
    assert table.rows == [("a", "0 2", "2", "1", "0.5000"), ("b", "1", "1", "1", "1.0000")]
    assert len(of([section], Picture)) == 2


@pytest.mark.parametrize("has_probabilities", [True, False])
def test_alignments_are_shown_worst_first(has_probabilities):
    known = [("ACDE-", "ACDEF"), ("ACD", "ACD")]
    predicted = [("-ACDE", "ACDEF"), ("ACD", "ACD")]
    pairs = [("ACDE", "ACDEF"), ("ACD", "ACD")]
    aligner = SequenceAligner.pretrained() if has_probabilities else SequenceAligner.from_matrix("BLOSUM62")
    names, scores = ["x and y", "v and w"], alignment_scores(known, predicted)
    told = [KnownPair(*each[:2], None, "", each[2]) for each in zip(pairs, known, names, strict=True)]
    sections = list(PairScores(aligner, told, predicted, scores, np.ones(2)).sections())
    (table,) = of(sections, Table)
    assert [row[0] for row in table.rows] == ["x and y", "v and w"]
    assert of(sections, Verbatim)[:2] == [Verbatim("ACDE-\nACDEF"), Verbatim("-ACDE\nACDEF")]
    assert len(of([sections[1]], Picture)) == 2 * has_probabilities
