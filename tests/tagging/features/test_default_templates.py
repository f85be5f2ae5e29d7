"""Templates by default: which they are, and that they say of words what words alone do not."""

import pytest

from structune import SequenceTagger
from structune.errors import DataError
from structune.tagging import conll2000_templates, extract, symbol_templates, text_templates
from structune.tagging.data.conll2000 import load_conll2000


def test_conll2000_templates_are_those_of_crfsuite():
    assert [*map(str, conll2000_templates())] == [
        "w[-2]", "w[-1]", "w[0]", "w[1]", "w[2]", "w[-1]|w[0]", "w[0]|w[1]",
        "pos[-2]", "pos[-1]", "pos[0]", "pos[1]", "pos[2]",
        "pos[-2]|pos[-1]", "pos[-1]|pos[0]", "pos[0]|pos[1]", "pos[1]|pos[2]",
        "pos[-2]|pos[-1]|pos[0]", "pos[-1]|pos[0]|pos[1]", "pos[0]|pos[1]|pos[2]",
        "__BOS__", "__EOS__",
    ]  # fmt: skip
    assert str(conll2000_templates("word", "tag")[5]) == "word[-1]|word[0]"


@pytest.mark.data
def test_conll2000_attributes():
    data = load_conll2000("train")
    table = extract(conll2000_templates(), data.columns, data.lengths)
    assert (table.n_tokens, len(table.names), table.indices.size) == (211727, 335674, 3808439)


def texts(templates):
    return [*map(str, templates)]


def test_those_of_symbols():
    assert texts(symbol_templates("base")) == [
        "base[-2]", "base[-1]", "base[0]", "base[1]", "base[2]", "base[-1]|base[0]", "base[0]|base[1]",
        "__BOS__", "__EOS__",
    ]  # fmt: skip
    assert symbol_templates("w", ["pos"]) == conll2000_templates()


def test_those_of_text_are_more():
    words, tagged = texts(text_templates("form")), texts(text_templates("form", ["pos", "lemma"]))
    letters = {"form[0].suffix4", "form[1].prefix3", "form[-1].shape|form[0].shape"}
    assert {*texts(symbol_templates("form")), *letters} < set(words)
    assert len(words) == len(set(words)) == 26
    assert {"form[0]|pos[1]", "form[-1]|pos[0]", "form[1]|lemma[0]", "lemma[0]|lemma[1]"} <= set(tagged)
    assert set(words) < set(tagged)


@pytest.mark.parametrize("make", [symbol_templates, text_templates])
def test_tags_are_a_list(make):
    with pytest.raises(DataError, match=r"tags='pos': expected a list of columns"):
        make("w", "pos")


def test_unseen_names_are_found_by_their_letters():
    def table(*sentences):
        words = [sentence.split() for sentence in sentences]
        columns = {"w": [word for sentence in words for word in sentence]}
        return extract(text_templates(), columns, [len(sentence) for sentence in words])

    y = [["O", "B-PER", "I-PER", "O"], ["O", "O", "B-PER"], ["O", "O", "O"]]
    tagger = SequenceTagger(penalty=0.1).fit(
        table("today Anna Olsen sings", "here sings Bea", "today he sings"), y
    )
    assert tagger.predict(table("today Carla Hansen sings")) == [["O", "B-PER", "I-PER", "O"]]
