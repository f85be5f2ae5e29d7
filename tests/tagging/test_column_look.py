"""A look at column files: what is read as it is, what is refused by its name, and what the options decide."""

import io
import re
import warnings
from unittest.mock import patch

import pytest

from structune.errors import DataError
from structune.tagging import conll, read_conll, read_conll_blocks
from structune.tagging.column_look import layout_of
from structune.tagging.conll import SkippedLinesWarning

CONLLU = """# newdoc id = d
# sent_id = s1
# a free comment
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	VB	_	3	aux	_	_
2	n't	not	PART	RB	_	3	adv	_	_
3	#	#	SYM	#	_	2	x	_	_

# sent_id = s2
1	New York	NY	PROPN	NNP	_	0	root	_	_
1.1	is	be	AUX	_	_	_	_	_	_
# the end
"""


def read(text, *args, **kwargs):
    return read_conll(io.StringIO(text), *args, **kwargs)


def test_conllu():
    told = "read as CoNLL-U; skipped 5 metadata lines, 1 multiword token, 1 empty node"
    with pytest.warns(SkippedLinesWarning, match=told):
        data = read(CONLLU, ["form", "upos"])
    assert data.columns == {"form": ["Do", "n't", "#", "New York"], "upos": ["AUX", "PART", "SYM", "PROPN"]}
    assert data.lengths.tolist() == [3, 1]
    assert [data.place(0, 0), data.place(1, 0)] == ["<input>:5", "<input>:10"]
    with pytest.warns(SkippedLinesWarning):
        assert read(CONLLU, ["id", "w", "lemma", "y"]).columns["y"] == data.columns["upos"]
    with pytest.warns(SkippedLinesWarning):
        plus = read("# global.columns = ID FORM X\n1\ta b\tB\n", ["form", "x"])
    assert plus.columns == {"form": ["a b"], "x": ["B"]}
    with pytest.warns(SkippedLinesWarning, match="skipped 5 metadata lines, 1 multiword token"):
        assert read(CONLLU, ["form"], separator="\t", comment="#").n_tokens == 4
    for names in (["w", "y"], ["w", "pos", "y"], ["form", "y"]):
        with pytest.raises(DataError, match="the file is CoNLL-U, whose first column has token numbers"):
            read(CONLLU, names)


@pytest.mark.parametrize(
    "line", ["# sent_id = s1", "#text = a b", "# text = # # O", "# newpar", "# id 1-2\tdomain=en"]
)
def test_metadata_before_a_sentence(line):
    with pytest.warns(SkippedLinesWarning, match="skipped 2 metadata lines"):
        data = read(f"{line}\n# # I-NP O\n2-3 CD I-NP O\n\n{line}\n4.1 CD I-NP O\n", ["w", "pos", "c", "y"])
    assert data.columns["w"] == ["#", "2-3", "4.1"]


@pytest.mark.parametrize(
    "text", ["# # O\nthe DT O\n\n# # O\n", "# = B\n#a=b O B\n", "# Number=Sing B\nx _ B\n", "a O\n# = x\n"]
)
def test_marks_that_are_tokens(text):
    expected = [line.split()[0] for line in text.split("\n") if line]
    assert read(text, ["w"], separator=None).columns["w"] == expected


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("New York\tB-LOC\nis\tO\n", None, ["New York", "is"]),
        ("New York\tNNP\t\na\t\tO\n", None, ["New York", "a"]),
        (" \tO\na\tB\n", None, [" ", "a"]),
        ("the \tDT \tO\ndog\tNN\tO\n", None, ["the", "dog"]),
        ("the\t\tDT\ninformation\tNN\n", None, ["the", "information"]),
        ("a\tO\t\nb\tO\t\n", ["w", "y"], ["a", "b"]),
        ("word\tlabel\nNew York\tB\nis\tO\n", None, ["New York", "is"]),
        ("a O\n\n\ufeffb O\n", None, ["a", "b"]),
        ("10\u00a0000 CD\nb X\n", None, ["10\u00a0000", "b"]),
        ("w word\nx token\n", ["w", "y"], ["w", "x"]),
        ("w y\na O\n", ["w", "y"], ["a"]),
        ("w y\n", ["w", "y"], ["w"]),
        (f"{'9' * 5000} a O\n1 b O\n", ["w"], ["9" * 5000, "1"]),
        ("a|b O\nc|d O\n", None, ["a|b", "c|d"]),
        ("Haus NOUN Case=Nom|Number=Sing\nund CCONJ _\n", None, ["Haus", "und"]),
        ("<unk> O\n{ O\n[ O\n", None, ["<unk>", "{", "["]),
    ],
)
@pytest.mark.filterwarnings("ignore::structune.tagging.conll.SkippedLinesWarning")
def test_what_is_read(text, columns, words):
    data = read(text, columns)
    assert next(iter(data.columns.values())) == words
    with patch.object(conll, "_PIECE", 1):
        blocks = list(read_conll_blocks(io.StringIO(text), columns, n_lines=1))
    assert [word for block in blocks for word in next(iter(block.columns.values()))] == words


def test_the_separator_is_that_of_the_whole_file():
    text = "a\tO\n" * 3 + "\n" + "b\tO\n" * 40_000 + "New York\tB\n"
    assert read(text, ["w", "y"]).columns["w"][-1] == "New York"
    assert read(text, ["w", "y"]).separator == "\t"
    assert read("a\tO\n", None).separator == read("a O\n", None).separator == " "


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("New York\tB-LOC\nLos Angeles\tB\n", None, "2 columns if separated by tabs, but 3 by white"),
        ("a\t\tO\nb\t\tO\n", None, "3 columns if separated by tabs, but 2 by whitespace. Use --sep"),
        ("New York \tB\nis \tO\n", None, "'New York ' between tabs begins or ends with a space"),
        ("# chapter one\nthe DT O\n", None, "the line '# chapter one' may be a token or a comment"),
        ("the DT O\nNew York NNP O\n", ["w", "pos", "y"], "<input>:2: the line has 4 columns, but the"),
        ("the DT O\n# a b c d\n", ["w"], "--comment '#' (in Python comment='#') skips lines"),
    ],
)
def test_two_readings(text, columns, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read(text, columns)
    assert read(text, ["w"], separator="\t", comment="#").n_tokens
    assert read(text, ["w"], separator=None, comment=None).n_tokens


FOREIGN = {
    "a pattern file of Wapiti": "*\n\nU:wrd-1 L=%X[-1,0]\n",
    "a model of Wapiti": "#mdl#2#123\n#rdr#3/2/0\n",
    "a model of CRF++": "version: 100\ncost-factor: 1\nmaxid: 5\n",
    "an attribute file of CRFsuite": "B\tw[0]=the\tp[0]=DT\t__BOS__\nI\tw[0]=a\\:b:2\tx:1.5\n\n",
    "the n-best output of CRF++": "# 0 0.478113\nthe\tDT\tB\n\n",
    "the output of structune predict --nbest": "# sentence 1 rank 1 probability 0.5\nthe DT O\n\n",
    "CSV (use --separator ',', or save it with tabs)": "Sentence #,Word,Tag\nSentence: 1,The,O\n,dog,O\n",
    "CSV (use --separator ';', or save it with tabs)": "the;DT;O\ndog;NN;O\n",
    "tokens with | between their columns (use --separator '|')": "The|DT|O\ndog|NN|O\n",
    "tokens with | between their columns": "The|DT|O dog|NN|O\nA|DT|O cat|NN|O\n",
    "tokens with a tag after /": "The/DT dog/NN ran/VB off/RP\nA/DT cat/NN sat/VB up/RP\n",
    "tokens with a tag after _": "The_DT dog_NN\nA_DT cat_NN\n",
    "tokens with a tag after / (use --separator '/')": "The/DT\ndog/NN\n./.\nA/DT\ncat/NN\n",
    "trees in brackets": "( (S\n    (NP-SBJ (NNP Mr.) )\n",
    "plain text": "The dog ran off.\nA cat sat.\n",
    "plain text ": "the dog ran off and\na cat sat on the mat\nthen they went home\n",
    "training data of spaCy": '("Uber blew", {"entities": [(0, 4, "ORG")]})\n',
    "one sentence per line, with": "EU,rejects\tB,O\n",
    "one sentence per line, with its words in one column": "id\tEU rejects x\tB O O\nid\tPeter\tB\n",
    "CoNLL-2012": "#begin document (bc/x); part 000\nbc/x 0 0 the DT\n",
    "WebAnno TSV": "#FORMAT=WebAnno TSV 3.2\n\n#Text=a b\n1-1\t0-1\ta\t_\n",
    "PubTator": "123|t|Title words\n123|a|More\n",
    "HTML": "<html>\n<body>\n</html>\n",
    "a list of lists": '[["the", "O"], ["dog", "O"]]\n[["a", "O"], ["cat", "O"]]\n',
    "a list of lists, as Python": "[('the', 'O'), ('dog', 'O')]\n",
    "UTF-16 text": "a O\n".encode("utf-16"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_formats_are_refused_by_name(name):
    text = FOREIGN[name]
    for columns in (None, ["w", "y"]):
        source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(DataError, match=re.escape(f"<input> looks like {name.strip()}")):
            read_conll(source, columns)


def test_separators_of_other_formats():
    assert read("The|DT|O\ndog|NN|O\n", separator="|").columns["y"] == ["O", "O"]
    with pytest.warns(SkippedLinesWarning, match="skipped 1 header line"):
        assert read("word,pos,tag\nthe,DT,O\n", separator=",").columns["w"] == ["the"]


def _conllu(ids):
    """Rows of CoNLL-U with such numbers, and a blank line for None."""
    return "".join("\n" if n is None else f"{n}\tw{n}\t_\tX\t_\t_\t0\troot\t_\t_\n" for n in ids)


@pytest.mark.parametrize(
    ("ids", "lengths"),
    [
        ([0, 1, None, 0, 1, 2], [2, 3]),
        ([1, 2, None, 3, 4], [2, 2]),
        ([1, 2, 1, 1, 2, 3], [2, 1, 3]),
        ([1, 2, 4, None, 7], [3, 1]),
    ],
)
def test_conllu_with_odd_numbers(ids, lengths):
    for n_lines in (1, 100):
        with pytest.warns(SkippedLinesWarning, match="read as CoNLL-U") as told:
            blocks = list(read_conll_blocks(io.StringIO(_conllu(ids)), ["form"], n_lines=n_lines))
        assert [n for block in blocks for n in block.lengths] == lengths
        words = [w for block in blocks for w in block.columns["form"]]
        assert words == [f"w{n}" for n in ids if n is not None]
    joined = "token numbers restart without a blank line (2 times); a sentence begins there"
    assert (joined in str(told[0].message)) == (len(lengths) == 3)


@pytest.mark.parametrize("columns", [None, ["form", "upos"]])
def test_conllu_with_other_columns(columns):
    header = "\t".join(["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"])
    with pytest.warns(SkippedLinesWarning, match="read as CoNLL-U; skipped 1 header line"):
        assert read(f"{header}\n{_conllu([1, 2])}", columns).n_tokens == 2
    short = _conllu([3])[:-3] + "\n"
    for text, line in ((_conllu([1, 2]) + short, 3), (short + _conllu([1, 2]), 1)):
        message = f"<input>:{line}: the line has 9 columns, but CoNLL-U, which was detected, has 10"
        with pytest.raises(DataError, match=message):
            read(text, columns)
    with pytest.raises(DataError, match="<input>:1: the line has 10 columns, but at least 12"):
        read(_conllu([1, 2]), ["id", *(f"c{k}" for k in range(11))])


def test_other_files_that_number_tokens():
    text = "#\thttp://x [2009]\n1-2\tdu\tO\n1\tde\tA\n2\tle\tB\n2.1\tx\ty\n1\ta\tO\n"
    told = "skipped 1 metadata line, 1 multiword token, 1 empty node; token numbers restart"
    told += r" without a blank line \(1 time\); no sentence begins there"
    with pytest.warns(SkippedLinesWarning, match=told):
        data = read(text, ["id", "w", "y"])
    assert data.columns["w"] == ["de", "le", "a"]
    assert data.lengths.tolist() == [3]
    with pytest.warns(UserWarning, match="the first column, read as 'w', contains token numbers"):
        read("1\tde\tA\n2\tle\tB\n", ["w", "y"])


@pytest.mark.parametrize(
    "text",
    [
        "2-3 CD O\n4.1 CD O\n1 CD O\n# # O\n", "1 a O\n1 b O\n\n2 c O\n2 d O\n", "1 CD\n2 CD\n3 CD\n",
        "0 a O\n1 b O\n0 c O\n1 d O\n", "5 CD O\n6 CD O\n, , O\n",
        "3\ta\tb\tc\td\te\t8\tx\ty\tB\n1\ta\tb\tc\td\te\t8\tx\ty\tB\n",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_tokens_or_features(text):
    assert read(text, ["w"]).n_tokens == len(text.split("\n")) - 1 - text.count("\n\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [('x,O\n\n"Smith, John",B-PER\n', 3), ('x,O\r\n"Smith",B-PER\r\n', 2), ('",",O\n', 1), ('a,O,""""\n', 1)],
)
def test_quotes_of_csv(text, line):
    with pytest.raises(DataError, match=f"<input>:{line}: .* looks like CSV with quotes"):
        read(text, ["w", "y"], separator=",")
    with pytest.raises(DataError, match='<input>:1: """" looks like CSV'):
        read('""""\tO\n')
    assert read('"x"\tO\n', ["w", "y"]).columns["w"] == ['"x"']
    assert read('",PUNCT,O\n``,",O\n', separator=",").columns["w"] == ['"', "``"]


@pytest.mark.parametrize("names", ["tokens\tner_tags", "Word POS-Tag NER_tag", "token", "words labels"])
def test_names_of_columns(names):
    rows = "a\tO\n" if "\t" in names else " ".join(["a", "N", "O"][: len(names.split())]) + "\n"
    with pytest.warns(SkippedLinesWarning, match="skipped 1 header line"):
        assert read(f"{names}\n{rows}{rows}", None).columns["c0"] == ["a", "a"]


def test_names_that_are_read_as_tokens():
    with pytest.warns(UserWarning, match="<input>:2: 'surface ner' looks like names of columns"):
        assert read("\nsurface ner\na O\nb X\n", None).columns["c0"] == ["surface", "a", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("Word NN\nprocessors NN\n", None)
        for text in ("Text NN\nis VBZ\n", "Text B-per\nis O\n", "Head NN MISC\nis VB O\n"):
            read(text, None)
        read("1 text n\n2 is v\n3 here a\n", ["id", "w", "y"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# 1\nthe DT\na DT\n\n# 2\nb NN\n", r"may be a token or a comment\. Use --comment '#'"),
        ("#sent 12\nthe DT\n", r"may be a token or a comment\. Use --comment '#'"),
        ("sentence_id\tw\ty\n1\ta\tO\n1\tb\tO\n2\ta\tX\n", r"there is a column .* no blank line"),
        ("Sentence #\tWord\tTag\nSentence: 1\ta\tO\n\tb\tX\n", r"there is a column .* no blank line"),
        ("1 a O\n1 b O\n2 a X\n3 a O\n", r"there is a column .* no blank line"),
    ],
)
def test_comments_and_sentence_numbers_in_columns(text, message):
    with pytest.raises(DataError, match=message):
        read(text, ["w"])


def test_rows_of_other_widths():
    for text in ("Rome B\n\nNew York B\n", "a O\n" * 40_000 + "\nNew York B\n"):
        with pytest.raises(DataError, match="the line has 3 columns, but the lines before have 2"):
            read(text, ["w", "y"])
        assert read(text, ["w", "y"], separator=None).columns["y"][-1] == "York"


@pytest.mark.parametrize(
    "text",
    [
        "The\tDT\n,\t,\nhe\tPRP\n.\t.\n", "The\tDT\tthe\n,\t,\t,\nNew York\tNP\tNew York\n",
        "AC/DC\nN/A\n", "Mr. NNP B.\nDr. NNP B.\n", "1 a 0\n2 b 0\n3 c 0\n", "Text NE\nist VAFIN\n",
        "0 a X\n0 b Y\n1 c X\n", "(\nhello\n,\nworld\n)\n;\n", ">\nThe\nend\n", "@\nnoon\n+\n1\n",
        "A\n....\n", "3 0\nthe 1\nend 0\n", "<unk>\nwell-known\n[\nsic\n]\n", "1 0\n2 1\n3 0\n",
        "a|b\nc|d\n", '[\n"\nx\n"\n]\n', "(a,b);\nx\n", ">:(\nhello\nworld\n", "# sym\nthe dt\n",
        "# ZZ1\nthe AT0\n", "NN_1 O\nVB_2 O\n", "<s> O\nfoo B\n</s> O\n", "#Nexus5\nrocks\n", "�\n",
        "1,000\n2,500\n", "gate\t10:30\t11:40\ngate\t10:20\t11:30\n",
        "Hund\tCase=Nom\tNum=Sg\nKatze\tCase=Acc\tNum=Sg\n", "2 1:0 O\nfoo bar X\n",
        "2019 0.5\n2020 0.7\n", "<s> O\n<b>x</b> B\n",
    ],
)  # fmt: skip
def test_tokens_that_look_like_other_formats(text):
    layout = layout_of(text, "x")
    assert layout.separator == ("\t" if "\t" in text else None)
    assert not layout.header


def test_separators_and_comments_that_are_none():
    for options in ({"separator": ""}, {"separator": 7}, {"comment": 7}):
        with pytest.raises(DataError, match="expected text"):
            layout_of("a O\n", "x", **options)


def test_short_texts_are_not_columns(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("12 Oak Ave New York\n7 Elm St Los Angeles\n")
    with pytest.raises(DataError, match=r"one text per line: all have 5 words"):
        read_conll(path, ("w", "y"))
    assert len(read_conll(path, ("w", "y"), separator=None)) == 1
    path.write_text("the DT B-NP 0 x\ndog NN I-NP 1 x\n\nruns VB B-VP 0 x\n")
    assert len(read_conll(path, ("w", "y"))) == 2
