"""Annotated texts: spans of characters become labels of tokens, fields become labels; all else is refused."""

import gzip
import io
import json
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structune
from commands import run, succeed
from structune.errors import DataError
from structune.tagging import SkippedLinesWarning, read_conll, read_conll_blocks

DATA = Path("/work/shared/data/sequence")
TEXT = "Ada lives in New York."
SPANS = [[0, 3, "PER"], [13, 21, "LOC"]]
TOKENS, LABELS = ["Ada", "lives", "in", "New", "York", "."], ["B-PER", "O", "O", "B-LOC", "I-LOC", "O"]


def read(text, columns=("w", "y"), **kwargs):
    return read_conll(io.BytesIO(text if isinstance(text, bytes) else text.encode()), columns, **kwargs)


def results(*spans, **more):
    """An annotation of Label Studio."""
    values = [{"start": a, "end": b, "text": TEXT[a:b], "labels": [label]} for a, b, label in spans]
    return {"result": [{"type": "labels", "value": value} for value in values], **more}


def task(*annotations):
    return {"id": 1, "data": {"text": TEXT}, "annotations": list(annotations)}


def in_html(span):
    """A result of Label Studio for texts in HTML."""
    a, b, label = span
    where = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "globalOffsets": {"start": a, "end": b}}
    return {"type": "hypertextlabels", "value": {**where, "text": TEXT[a:b], "hypertextlabels": [label]}}


DICTS = [{"id": 0, "label": c, "start_offset": a, "end_offset": b} for a, b, c in SPANS]
ENTS = [{"start": a, "end": b, "label": c} for a, b, c in SPANS]
RECORDS = {
    "spaCy": {"text": TEXT, "entities": SPANS},
    "spaCy pairs": [TEXT, {"entities": SPANS, "cats": {}}],
    "spaCy documents": {"text": TEXT, "ents": ENTS, "spans": {}, "tokens": [{"id": 0}]},
    "spaCy documents with groups": {"text": TEXT, "ents": ENTS, "spans": {"sc": ENTS[:1]}},
    "Prodigy": {"text": TEXT, "tokens": [{"text": "Ada"}], "spans": ENTS, "answer": "accept"},
    "Doccano": {"id": 1, "text": TEXT, "label": SPANS},
    "Doccano labels": {"text": TEXT, "labels": SPANS[::-1], "Comments": []},
    "Doccano relations": {"text": TEXT, "entities": DICTS, "relations": []},
    "Label Studio": task(results(*SPANS)),
    "Label Studio, HTML": task({"result": [*map(in_html, SPANS)]}),
    "Label Studio, short": {"text": TEXT, "label": [r["value"] for r in results(*SPANS)["result"]]},
}


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_each_way_to_write_spans(name, indent):
    records = [RECORDS[name]] * 2
    text = "\n\n".join(map(json.dumps, records)) if indent == 0 else json.dumps(records, indent=indent)
    data = read(f"\n{text}\n")
    assert data.sentences("w") == [TOKENS] * 2
    assert data.sentences("y") == [LABELS] * 2
    (line,) = {data.lines[0]}
    assert json.dumps(TEXT) in "".join(f"\n{text}".split("\n")[line - 1 :])


@st.composite
def texts_with_spans(draw):
    characters = ["a", "b", "1", " ", "\n", ".", "-", "é", "\u0301", "😀"]
    text = draw(st.text(st.sampled_from(characters), max_size=15))
    borders = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [(a, b, draw(st.sampled_from("XY"))) for a, b in zip(borders[::2], borders[1::2], strict=False)]
    return text, [span for span in spans if text[span[0] : span[1]].strip()]


@given(texts_with_spans())
def test_every_character_keeps_its_label(given):
    """Tokens, walked along the text, are all of it but white space, and begin where spans do."""
    text, spans = given
    if not text.strip():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedLinesWarning)
        data = read(json.dumps({"text": text, "entities": spans}))
    found, at = [], 0
    for token, label in zip(*data.columns.values(), strict=True):
        at = text.index(token, at)
        found += [(at + k, "I" + label[1:] if k and label != "O" else label) for k in range(len(token))]
        at += len(token)
    expected = []
    for k in range(len(text)):
        span = next((span for span in spans if span[0] <= k < span[1]), None)
        begins = span is not None and not text[span[0] : k].strip()
        expected.append((k, "O" if span is None else f"{'B' if begins else 'I'}-{span[2]}"))
    assert found == [(k, label) for k, label in expected if not text[k].isspace()]


def test_tokens():
    expected = ["हिन्दी", *"(e.g)3,5€", "cafe\u0301", "می\u200cروم", "can", "'", "t"]
    text = "हिन्दी (e.g)3,5€ cafe\u0301 می\u200cروم can't"
    assert read(json.dumps({"text": text}), ("w",)).columns["w"] == expected


def record(*spans, text="Ada Lo", **more):
    return json.dumps({"text": text, "entities": list(spans), **more})


CHOICE = {
    "result": [
        *results(*SPANS)["result"],
        {"value": {"choices": ["good"]}},
        {"value": {"start": 0, "end": 3, "choices": ["a"]}},
    ]
}
TASKS = [task(results([0, 22, "X"], was_cancelled=True), CHOICE, results()), task(), {"data": {"text": " "}}]


@pytest.mark.parametrize(
    ("text", "told", "labels"),
    [
        (
            json.dumps(TASKS),
            "skipped 2 records without .* 1 record with several .* ignored 2 results",
            LABELS,
        ),
        (record(answer="reject") + "\n" + record(), "skipped 1 record without labels, or", ["O", "O"]),
        (record([1, 3, "A"], [4, 5, "B"]), "split tokens at 2 places", ["O", "B-A", "B-B", "O"]),
        (record([0, 4, "A"]), "white space at the ends of 1 span", ["B-A", "O"]),
        ("<c><s><A>x</A> <B>1</B><A> y</A></s><s/></c>", "skipped 1 record without words", ["A", "B", "A"]),
        ("<c><s><A>x</A><B>1</B>\n</s><s><B>1</B></s></c>", "split tokens at 1 place", ["A", "B"]),
    ],
)
def test_what_is_skipped_or_changed_is_told(text, told, labels):
    with pytest.warns(SkippedLinesWarning, match=told):
        assert read(text).sentences("y")[0] == labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (record([0, 3, "A"], [2, 5, "B"]), ":1: record 1: the spans 0-3 (A) and 2-5 (B) overlap"),
        (record([0, 3, "A"], [0, 3, "B"]), "the spans 0-3 (A) and 0-3 (B) overlap"),
        (record([0, 7, "A"]), "the span 0-7 (A) has no words, or is not within the text, which has 6 char"),
        (record([3, 4, "A"]), "the span 3-4 (A) has no words"),
        (record([0, 3, "O"]), "the span 0-3 (O) needs one label"),
        (record([0, 3]), "'[0, 3]' is not a span"),
        (record([True, 3, "A"]), "is not a span"),
        (record("positive"), "'positive' is not a span"),
        (record({"start": 0, "end": 3, "text": "da ", "label": "A"}), "covers 'Ada', but its text is 'da '"),
        (record({"start": 0, "end": 3, "labels": ["A", "B"]}), "needs one label"),
        (record({"start": 0, "end": 3, "entity": "A", "value": "x"}), "the span 0-3 (None) needs one label"),
        (record(label=[]), "needs one list of spans"),
        (json.dumps({"text": "Ada", "ents": [], "spans": {"sc": [{}]}}), "needs one list of spans"),
        (json.dumps(task({"result": [{"value": {"start": 0, "end": 3, "ner": ["A"]}}]})), "0-3 has no label"),
        (
            json.dumps(task({"result": [{"value": {"start": "/p", "end": "/p", "plabels": ["A"]}}]})),
            "not a span",
        ),
        (json.dumps({"tokens": ["a"], "tags": []}), ':1: record 1: there is no "text"'),
        (record() + '\n{"text": "a', ":2: read as JSON: Unterminated string"),
        (record() + '\n{"text": "\\ud800", "label": []}', ":2: read as JSON: "),
        (f"[{record()},\n{record()}\n{record()}]", ":3: read as JSON: Expecting ','"),
        (record().encode() + b'\n{"text": "\xff"}', r":2: the bytes b'\xff' are not UTF-8 text"),
        ('{"text": ' + "[" * 99_999, ":1: read as JSON: maximum recursion"),
        (json.dumps({"text": "a", "label": None}), "no text has labels"),
        ("[{'id': 0}]", ":1: read as JSON: Expecting property name"),
        ("<c>\n<s><A>1</A>, <B>x</B></s></c>", ":2: read as XML: ',' is in <s>, but in no field"),
        ("<c>\n<s><A>1</A></s>\n<s>2</s>\n</c>", ":3: read as XML: '2' is in <s>, but in no field"),
        ("<c>\n<s><A>1<i>2</i></A></s></c>", ":2: read as XML: <i> is in the field <A>"),
        ("<c>\n<s><A>1</A></s></d>", ":2: read as XML: mismatched tag"),
        ("<s>\nthe\tDT\tO\n</s>", ":2: read as XML: 'the DT O' is in <s>, but in no field"),
        ("<A>1</A> <B>x</B>\n<A>2</A> <B>y</B>\n", ":1: read as XML: '1' is in <A>, but in no field"),
        ('<?xml version="1.0" encoding="tlh"?><c><s><A>1</A></s></c>', "encoding='tlh' is unknown"),
        (b'<?xml version="1.0"?><c><s><A>\xe9</A></s></c>', r":1: the bytes b'\xe9' are not utf-8 text"),
        ('<!DOCTYPE c [<!ENTITY x "ha ha">]>\n<c><s><A>&x;</A></s></c>', "the entity 'x' is not read"),
        ('<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><c/>', "the entity 'x' is not read"),
        ('<!DOCTYPE c SYSTEM "c.dtd">\n<c><s><A>&x;</A></s></c>', ":2: read as XML: the entity 'x' is"),
    ],
)
@pytest.mark.filterwarnings("ignore::structune.tagging.SkippedLinesWarning")
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(DataError, match=re.escape(f"<input>{message}" if message[0] == ":" else message)):
        read(text)


XML = '<?xml version="1.0" encoding="{}"?>\n<c>\n\t<s>\n\t\t<No>12</No> <Name>Rue é &amp; Co</Name></s></c>'


def test_fields_of_xml():
    for source, options in (
        (io.BytesIO(XML.format("latin-1").encode("latin-1")), {}),
        (io.BytesIO(XML.format("UTF-8").encode()), {}),
        (io.BytesIO(XML.format("gb2312").encode("gb2312")), {}),
        (io.StringIO(XML.format("latin-1")), {}),
        (io.BytesIO(XML.format("UTF-16").encode("utf-16")), {"encoding": "utf-16"}),
    ):
        columns = read_conll(source, ("w", "y"), **options).columns
        assert columns == {"w": ["12", "Rue", "é", "&", "Co"], "y": ["No", *["Name"] * 4]}
    with pytest.warns(UserWarning, match="is read as latin-1, but it looks like utf-8"):
        read(XML.format("latin-1"))
    assert read("<c><s><Name>Main St</Name></s></c>", ("w",)).columns == {"w": ["Main", "St"]}
    long = "x" * 99_999  # parsers give it in pieces
    assert read(f"<c><s><A>{long}<!-- --> b&amp;c</A></s></c>").columns["w"] == [long, "b&c"]


@pytest.mark.parametrize(("name", "n"), [("us_addresses", 1513), ("references", 1514)])
def test_files_of_parserator(name, n):
    path = DATA / f"{name}.xml.gz"
    if not path.exists():
        pytest.skip("needs shared data")
    data = read_conll(path, ("w", "y"))
    text = re.sub(r"<[?!][^>]*>", "", gzip.decompress(path.read_bytes()).decode())
    tags = re.findall(r"<([\w-]+)>([^<]*)</\1>", text)
    assert len(data) == n
    assert data.columns["y"] == [tag for tag, words in tags for _ in words.split()]


def test_blocks():
    text = "".join(record([0, 3, "A"]) + "\n" for _ in range(7))
    blocks = list(read_conll_blocks(io.StringIO(text), ("w", "y"), n_lines=4))
    assert [len(block) for block in blocks] == [2, 2, 2, 1]
    assert blocks[1].place(0, 1) == "<input>:3"
    with pytest.raises(DataError, match=r"3 columns are needed \(w, pos, y\)"):
        read(text, ("w", "pos", "y"))


def test_commands(tmp_path):
    path, model, new = tmp_path / "train.jsonl", tmp_path / "m", tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps(RECORDS["Doccano"]) + "\n" for _ in range(8)))
    for command in ("train", "tune"):
        out = succeed(command, path, "-m", model, "--test", path, "-q")
        assert "Segments (bio)" in out
        assert structune.load(model).classes_ == ["B-LOC", "B-PER", "I-LOC", "O"]
    new.write_text(json.dumps({"text": TEXT}))
    expected = "".join(f"{token}\t{label}\n" for token, label in zip(TOKENS, LABELS, strict=True)) + "\n"
    assert succeed("predict", model, new) == expected
    # Labels of a file to label are not looked at, as they may be wrong, and cut no tokens.
    wrong = json.dumps({"text": TEXT, "entities": [[1, 2, "PER"]]})
    assert succeed("predict", model, "-", stdin=wrong) == expected
    assert succeed("predict", model, "-", stdin="\n".join(TOKENS)) == expected.replace("\t", " ")
    assert json.loads(succeed("evaluate", model, path, "--json"))["segments"]["overall"]["f1"] == 1
    assert "no text has labels" in run("evaluate", model, new).stderr
    assert "8 sentences" in succeed("shard", path, tmp_path / "shards", "-q")
