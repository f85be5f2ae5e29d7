"""Templates, against a reference that builds each token's attributes string by string."""

import io
import re
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structune import SequenceTagger
from structune.errors import DataError
from structune.tagging import (
    Boundary,
    Conjunction,
    Lower,
    Prefix,
    Shape,
    Suffix,
    Token,
    conll2000_templates,
    extract,
    parse_template,
    parse_templates,
    read_templates,
    symbol_templates,
    text_templates,
    window,
)
from structune.tagging.data.conll2000 import load_conll2000


def naive_shape(value):
    symbols = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in value]
    return "".join(c for i, c in enumerate(symbols) if i == 0 or symbols[i - 1] != c)


def naive_token(part, columns, start, end, t):
    if not start <= t + part.offset < end:
        return None
    value = columns[part.column][t + part.offset]
    if isinstance(part, Prefix | Suffix) and len(value) < part.size:
        return None
    return {
        Token: value,
        Lower: value.lower(),
        Shape: naive_shape(value),
        Prefix: value[: getattr(part, "size", None)],
        Suffix: value[-getattr(part, "size", 1) :],
    }[type(part)]


def naive_attribute(template, columns, start, end, t):
    if isinstance(template, Boundary):
        at = start if template.text == "__BOS__" else end - 1
        return template.text if t == at else None
    parts = template.parts if isinstance(template, Conjunction) else (template,)
    values = [naive_token(part, columns, start, end, t) for part in parts]
    return None if None in values else f"{template}={'|'.join(values)}"


def naive_extract(templates, columns, lengths):
    rows, start = [], 0
    for length in lengths:
        for t in range(start, start + length):
            found = [naive_attribute(template, columns, start, start + length, t) for template in templates]
            rows.append([name for name in found if name is not None])
        start += length
    return rows


def rows_of(table):
    return [
        [table.names[column] for column in table.indices[start:end]]
        for start, end in zip(table.indptr[:-1], table.indptr[1:], strict=True)
    ]


offsets = st.integers(-3, 3)
names = st.sampled_from(["w", "pos", "a.b", "é"])
tokens = (
    st.builds(Token, names, offsets)
    | st.builds(Lower, names, offsets)
    | st.builds(Shape, names, offsets)
    | st.builds(Prefix, names, offsets, st.integers(1, 4))
    | st.builds(Suffix, names, offsets, st.integers(1, 4))
)
conjunctions = st.lists(tokens, min_size=2, max_size=4).map(lambda parts: Conjunction(*parts))
templates = tokens | conjunctions | st.sampled_from(["__BOS__", "__EOS__"]).map(Boundary)
values = st.text("aB1|=- é", max_size=3)


@st.composite
def corpora(draw):
    lengths = draw(st.lists(st.integers(0, 5), max_size=5))
    size = sum(lengths)
    column = st.lists(values, min_size=size, max_size=size)
    return {name: draw(column) for name in ("w", "pos", "a.b", "é")}, lengths


@given(st.lists(templates, max_size=6, unique=True), corpora())
@settings(max_examples=150)
def test_extract_is_the_naive_extraction(templates, corpus):
    columns, lengths = corpus
    table = extract(templates, columns, lengths)
    assert rows_of(table) == naive_extract(templates, columns, lengths)
    assert table.lengths.tolist() == lengths
    assert len(set(table.names)) == len(table.names)
    assert set(table.names) == {name for row in rows_of(table) for name in row}


def test_large_columns_are_sorted_and_small_ones_tabulated():
    rng = np.random.default_rng(0)
    columns = {"w": [f"w{k}" for k in rng.integers(0, 400, 1000)], "t": rng.choice([*"xyz"], 1000).tolist()}
    templates = parse_templates("w[-1]|w[0] w[0]|w[1]|t[0] t[0]|t[1] w[0]")
    assert rows_of(extract(templates, columns, [400, 600])) == naive_extract(templates, columns, [400, 600])


@given(templates)
def test_text_round_trip(template):
    assert parse_template(str(template)) == template
    assert parse_templates(str(template)) == [template]


@pytest.mark.parametrize(
    "text",
    ["", "w", "w[]", "w[x]", "[0]", "w[0", "w[0]|", "|w[0]", "w[0]=a", "w[0].suffix", "w[0].suffix0",
     "w[0].size", "w[0]x", "w[99999]", "w v[0]", "w[-1..1]", "__BOS__|w[0]", "__bos__", "w[0]\n"],
)  # fmt: skip
def test_what_is_no_template_is_refused(text):
    with pytest.raises(DataError, match=re.escape(f"{text!r} is not a template")):
        parse_template(text)


@pytest.mark.parametrize(
    ("make", "given"),
    [(Token, ["a=b"]), (Token, ["w", 10**6]), (Suffix, ["w", 0, 0]), (Conjunction, [("w", 0)]),
     (Boundary, ["__MID__"])],
)  # fmt: skip
def test_templates_without_a_text_are_refused(make, given):
    with pytest.raises(DataError, match=r"is not a|needs at least 2"):
        make(*given)


def test_windows():
    assert parse_templates("w[-1..1]") == window("w", -1, 1) == [Token("w", -1), Token("w", 0), Token("w", 1)]
    assert [*map(str, parse_templates("w[0..1].lower"))] == ["w[0].lower", "w[1].lower"]
    assert [*map(str, parse_templates("w[0..1]|p[0..1]"))] == ["w[0]|p[0]", "w[1]|p[1]"]
    with pytest.raises(DataError, match=r"the window 'w\[1\.\.0\]' is empty"):
        parse_templates("w[1..0]")
    with pytest.raises(DataError, match="is not a template"):
        parse_templates("w[0..1]|p[0..2]")


def test_several_templates():
    expected = [Token("w"), Token("p", -1), Boundary("__EOS__")]
    assert parse_templates(" w[0], p[-1]\n__EOS__ w[0] ") == expected
    assert parse_templates(["w[0] p[-1]", Boundary("__EOS__"), Token("w")]) == expected
    assert parse_templates("") == []


def test_shapes():
    words = ["Hello", "DC10-30", "McDonald", "...", "U.S.", "1990-99.5", "naïve", "日本", ""]
    shapes = ["Xx", "Xd-d", "XxXx", ".", "X.X.", "d-d.d", "x", "x", ""]
    table = extract("w[0].shape", {"w": words}, [len(words)])
    assert rows_of(table) == [[f"w[0].shape={shape}"] for shape in shapes]


def test_conjunctions_that_read_the_same_are_one_attribute():
    table = extract("w[0]|v[0]", {"w": ["a|b", "a"], "v": ["c", "b|c"]}, [2])
    assert table.names == ["w[0]|v[0]=a|b|c"]
    assert table.indices.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("columns", "lengths", "message"),
    [
        ({"v": ["a"], "p": ["b"]}, [1], "template 'w[0]' reads the column 'w', but the columns are v, p"),
        ({"w": ["a", "b"]}, [1], "column 'w' has 2 values, but the lengths add up to 1"),
        ({"w": ["a", None]}, [2], "column 'w', token 1: None is not a string"),
        ({"w": ["a", ["b"]]}, [2], "column 'w', token 1: ['b'] is not a string"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, lengths, message):
    with pytest.raises(DataError, match=re.escape(message)):
        extract("w[0]", columns, lengths)


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


def test_those_of_text_are_more():
    words, tagged = texts(text_templates("form")), texts(text_templates("form", ["pos", "lemma"]))
    letters = {"form[0].suffix4", "form[1].prefix3", "form[-1].shape|form[0].shape"}
    assert {*texts(symbol_templates("form")), *letters} < set(words)
    assert len(words) == len(set(words)) == 26
    assert {"form[0]|pos[1]", "form[-1]|pos[0]", "form[1]|lemma[0]", "lemma[0]|lemma[1]"} <= set(tagged)
    assert set(words) < set(tagged)
    for make in (symbol_templates, text_templates):
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


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("U:%x[0,1]", ["x1", "22", "."]),
        ("u %X[0,0]#", ["ab1", "ba", "a"]),
        ("U:%x[-1,0]/%x[0,1]", ["_x-1|x1", "Ab1|22", "BA|."]),
        ("U:%x[2,0]%x[-2,0]", ["a|_x-2", "_x+1|_x-1", "_x+2|Ab1"]),
        ("U:%x[6,0]%x[5,0]", ["_x+4|_x+3", "_x+#|_x+4", "_x+#|_x+#"]),
        ('u:%t[-1,0,"^\\u"]', ["false", "true", "true"]),
        ('u:%m[0,1,"\\d*$"]%M[0,0,".?A"]', ["1|a", "22|ba", "|"]),
    ],
)
def test_template_files(line, expected):
    columns = {"w": ["Ab1", "BA", "a"], "pos": ["x1", "22", "."]}
    templates = read_templates(io.StringIO(f"# a comment\n{line}\n\nB\n"), [*columns])
    assert parse_templates(map(str, templates)) == templates  # as model files keep them
    rows = rows_of(extract(templates, columns, [3]))
    assert [name.partition("=")[2] for (name,) in rows] == expected


@pytest.mark.parametrize(
    ("pattern", "found"),  # in each of the values
    [
        ("a", "a a a "), ("^a", "a a  "), (".$", "a 1 a ."), ("\\d", " 1 1 "), ("\\D\\d", " a1 .1 "),
        ("\\.", "  . ."), ("\\u\\w?", "  Ba "), ("\\p\\p*", "  . ."), ("\\p*$", "   ..."),
        ("a.*1", " a1 a.1 "), ("^.?\\l", "a a Ba "), ("\\U\\W", "  a. .."), ("$", "   "), ("a$b", "   "),
    ],
)  # fmt: skip
def test_patterns_of_wapiti(pattern, found):
    template = parse_template(str(parse_template(f"w[0].match:{quote(pattern)}")))
    assert [template.view(value) for value in ("a", "a1", "Ba.1a", "...")] == found.split(" ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U1:%x[0,0]\nB1:%x[0,0]", ":2: 'B1:%x[0,0]' is not supported"),
        ("U1:%x[0,0]\n\n*", ":3: '*' is not supported"),
        ("B\n*", ":2: '*' is not supported. Allowed: lines that begin with U, and B alone"),
        ("B", ": there are no templates with %x"),
        ("U1:%x[0,0]\nU2:", ":2: 'U2:' is not a template"),
        ("U1:%x[0,0]\nU2:%x[@1,0]", ":2: 'U2:%x[@1,0]' is not a template"),
        ("U1:%x[0,0]/%y[0,0]", ":1: 'U1:%x[0,0]/%y[0,0]' is not a template"),
        (
            "U1:%x[0,1]\nU2:%x[0,2]",
            ":2: 'U2:%x[0,2]' reads column 2. Columns before the label: 0 (w), 1 (pos)",
        ),
        ("U:%x[0,0]\nU:%x[1,0]", ":2: the template shares attributes with line 1"),
        ("u:%t[0,0]", ":1: 'u:%t[0,0]': %t and %m need a pattern"),
        ('u:%x[0,0,"a"]', "and %x has none"),
        ('u:%t[0,0,"a**"]', "has '*' without a character to refer to"),
        ("U1:%x[0,0]#%x[1,0]", "'#' begins a comment in Wapiti, but not in CRF++"),
        ("U1:%x[0,-1]", ":1: 'U1:%x[0,-1]' is not a template"),
        ("w[0]\nw[zero]", ":2: 'w[zero]' is not a template"),
        ("# nothing\n\n", ": there are no templates"),
    ],
)
def test_template_files_that_models_cannot_follow(text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read_templates(io.StringIO(text), ["w", "pos"])


def test_what_differs_in_template_files_is_told():
    with pytest.warns(UserWarning, match="no line B, but models always have weights of transitions"):
        read_templates(io.StringIO("U:%x[0,0]"), ["w"])
    with pytest.warns(UserWarning, match=":2: skipped the template, which repeats line 1"):
        assert len(read_templates(io.StringIO("U1:%x[0,0]\nU2:%x[0,0] # again\nb"), ["w"])) == 1
    assert read_templates(io.StringIO("# own\nw[-1..0]\n\n w[0].shape"), []) == parse_templates(
        "w[-1..0] w[0].shape"
    )
    assert len(read_templates(io.StringIO("Ua:%x[0,0]\nUA:%x[1,0]\nB"), ["w"])) == 2
