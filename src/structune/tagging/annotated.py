"""Annotated texts: JSON with spans of characters (spaCy, Doccano, Label Studio, Prodigy), XML with fields."""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, pairwise
from typing import Any, NoReturn
from xml.parsers import expat

from structune.errors import DataError, warn
from structune.files.text import plural, shown

ANNOTATED = ("JSON", "JSONL", "XML")  # as `looks_like` calls them
NAME_ENCODING = "Name the encoding with --encoding (in Python encoding=)"
OPTIONS = "--separator tab or --separator whitespace (in Python separator='\\t' or None)"
_KEYS = ("entities", "labels", "label", "spans", "ents")  # of the list of spans
SPANS = f"spans with one of the keys {', '.join(_KEYS)}"
_PAIR = re.compile(rb'\s*\[\s*"')  # a line of spaCy
_FIRST, _NEXT = re.compile(r"\s*\[\s*"), re.compile(r"\s*(?:,\s*|\])")  # of a list in JSON
_DECLARED = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.:-]+)")
_CONTROLS = re.compile("[\x80-\x9f]")  # where cp1252 has quotes and dashes
Example = tuple[list[str], list[str], int]  # tokens, their labels, and the line where they begin
Span = tuple[int, int, str]
_TOLD = {  # what is counted, and how it is told
    "unlabelled": ("skipped {} without labels, or rejected", "record"),
    "empty": ("skipped {} without words", "record"),
    "several": ("{} with several annotations: read the first that is not cancelled", "record"),
    "others": ("ignored {} without a label of text", "result"),
    "blank": ("left out white space at the ends of {}", "span"),
    "split": (
        "split tokens at {}: spans or fields begin or end within words; offsets must count characters",
        "place",
    ),
}


def read_annotated(
    pieces: Iterable[bytes], name: str, look: str, has_labels: bool, is_text: bool, counts: Counter[str]
) -> Iterator[Example]:
    """The texts that have tokens; without `has_labels` spans are ignored.

    `look` is one of `ANNOTATED`. `is_text` says that the pieces are UTF-8 whatever an XML declaration says.
    """
    if look == "XML":
        yield from _fields(pieces, name, is_text, counts)
        return
    for number, (line, record) in enumerate(_records(pieces, name), 1):
        try:
            text, spans = _read_record(record, has_labels, counts)
        except DataError as error:
            raise DataError(f"{name}:{line}: record {number}: {error}") from None
        tokens, labels = _labelled(text, spans or [], counts)
        if spans is None and has_labels:
            counts["unlabelled"] += 1
        elif tokens:
            yield tokens, labels, line
        else:
            counts["empty"] += 1


def told(counts: Counter[str]) -> str:
    """What was skipped or changed, or an empty text."""
    return "; ".join(text.format(plural(counts[k], what)) for k, (text, what) in _TOLD.items() if counts[k])


def recoded(pieces: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Whole lines in UTF-8, from pieces in another encoding; warns if these are likely in a third."""
    try:
        decoder, rest, n_lines = codecs.getincrementaldecoder(encoding)(), "", 0
        decoder.decode(b"").encode()  # no text comes from codecs such as base64
    except (LookupError, ValueError, AttributeError, TypeError, AssertionError):
        raise DataError(f"encoding={encoding!r} is unknown. Give one such as utf-16 or latin-1") from None
    is_sure = codecs.lookup(encoding).name.startswith("utf")
    for piece in chain(pieces, [b""]):
        state = decoder.getstate()
        try:
            text = rest + decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            decoder.setstate(state)
            decoder.errors = "replace"
            before = rest + decoder.decode(piece, final=not piece).partition("\ufffd")[0]
            n_lines += len(f"{before}.".encode().splitlines())
            what = f"the bytes {error.object[error.start : error.end]!r} are not {encoding} text"
            raise DataError(f"{name}:{n_lines}: {what}. {NAME_ENCODING}") from None
        except UnicodeError as error:  # there is no mark of the byte order
            raise DataError(f"{name}: {error}. Name another encoding, such as {encoding}-le") from None
        if not is_sure and (likely := _likely_encoding(piece, text)):
            warn(f"{name} is read as {encoding}, but it looks like {likely}. Check the encoding")
            is_sure = True
        end = text.rfind("\n") + 1 if piece else len(text)
        data, rest = text[:end].encode(errors="surrogatepass"), text[end:]
        n_lines += len(data.splitlines())
        if data:
            yield data


def _likely_encoding(piece: bytes, text: str) -> str:
    """What bytes look like if their text may be wrong, or an empty text."""
    try:
        piece.decode()
    except UnicodeDecodeError:
        return "cp1252" if _CONTROLS.search(text) else ""
    return "" if piece.isascii() else "utf-8"


# --- JSON ---------------------------------------------------------------------------------------------------


def _parsed(data: bytes, name: str, line: int = 1) -> Any:
    try:
        value = json.loads(data.decode())
        if b"\\ud" in data.lower():  # it may be half of a pair
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeDecodeError as error:
        why = f"the bytes {data[error.start : error.end]!r} are not UTF-8 text. {NAME_ENCODING}"
        line += data.count(b"\n", 0, error.start)
        raise DataError(f"{name}:{line}: {why}") from None
    except (ValueError, RecursionError) as error:
        line += getattr(error, "lineno", 1) - 1
        raise DataError(
            f"{name}:{line}: read as JSON: {getattr(error, 'msg', error)}. For columns, use {OPTIONS}"
        ) from None


def _records(pieces: Iterable[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """The records of JSON lines, or of one list, with their lines."""
    lines = enumerate(chain.from_iterable(map(bytes.splitlines, pieces)), 1)
    filled = ((number, line) for number, line in lines if line.strip())
    number, first = next(filled)
    if first.strip()[:1] == b"{" or _PAIR.match(first):
        yield from (
            (number, _parsed(line, name, number)) for number, line in chain([(number, first)], filled)
        )
        return
    whole = b"\n".join([b""] * (number - 1) + [first, *(line for _, line in lines)])
    document, text = _parsed(whole, name), whole.decode()
    decode, line, before, after = json.JSONDecoder().raw_decode, 1, 0, _FIRST.match(text)
    for record in document:
        assert after is not None
        line, before = line + text.count("\n", before, after.end()), after.end()
        yield line, record
        after = _NEXT.match(text, decode(text, before)[1])


def _read_record(record: Any, has_labels: bool, counts: Counter[str]) -> tuple[str, list[Span] | None]:
    """The text of a record, and its spans if it has labels and they are asked for."""
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):  # of spaCy
        record = {**record[1], "text": record[0]}
    record = record if isinstance(record, dict) else {}
    groups = record.get("spans")  # of spaCy: further spans, by the names of their groups
    if isinstance(groups, dict) and (record.get("ents") or not any(groups.values())):
        record = {**record, "spans": None}
    found = [record[key] for key in _KEYS if record.get(key) not in (None, {})]
    if record.get("answer") in ("reject", "ignore"):  # of Prodigy
        found = []
    if isinstance(record.get("data"), dict):  # of Label Studio
        done = record.get("annotations")
        chosen = filter(lambda a: isinstance(a, dict), done if isinstance(done, list) else [])
        found = [each.get("result") for each in chosen if not each.get("was_cancelled")]
        counts["several"] += len(found) > 1 and has_labels
        record, found = record["data"], found[:1]
    text = record.get("text")
    if not isinstance(text, str):
        raise DataError(f'there is no "text". JSON records need a text, and {SPANS}. Write tokens as columns')
    if not has_labels or not found:
        return text, None
    if len(found) > 1 or not isinstance(found[0], list):
        raise DataError(f"a record needs one list of {SPANS}")
    spans = [_span(given, text) for given in found[0]]
    ordered = sorted({span for span in spans if span and span[2]})
    counts["others"] += sum(not (span and span[2]) for span in spans)
    places = {span[:2] for span in ordered}
    if bare := next((span for span in spans if span and span[:2] not in places), None):
        raise DataError(f"the span {bare[0]}-{bare[1]} has no label: no key of its result ends in 'labels'")
    for (a, b, one), (c, d, other) in pairwise(ordered):
        if c < b:
            both = f"the spans {a}-{b} ({one}) and {c}-{d} ({other})"
            raise DataError(f"{both} overlap. A token has one label: remove one of them")
    counts["blank"] += sum(text[a:b] != text[a:b].strip() for a, b, _ in ordered)
    return text, ordered


def _span(given: Any, text: str) -> Span | None:
    """The start, end and label of a span, however it is written; None for what is no label of text.

    A result of Label Studio that says something else of a span, such as a choice, has an empty label.
    """
    covered, is_bare = None, False
    if isinstance(given, dict):
        value = given.get("value")  # of Label Studio, whose results may be choices and relations
        found = value if isinstance(value, dict) else given
        label = found.get("label", next((found[key] for key in found if key.endswith("labels")), None))
        is_bare = label is None and found is value
        if "from_id" in given or (is_bare and "start" not in found):
            return None
        label, covered = label[0] if isinstance(label, list) and len(label) == 1 else label, found.get("text")
        where = found.get("globalOffsets")  # for texts in HTML, in which start and end are paths
        where = where if isinstance(where, dict) else found
        given = [*(where.get(key, found.get(f"{key}_offset")) for key in ("start", "end")), label]
    if not isinstance(given, list) or len(given) != 3 or not all(type(at) is int for at in given[:2]):
        raise DataError(f"{shown(str(given))} is not a span. Give a start, an end and a label")
    start, end, label = given
    place = f"the span {start}-{end} ({label})"
    is_label = isinstance(label, str) and label not in ("", "O") and " ".join(label.split()) == label
    if not (is_label or is_bare):
        raise DataError(f"{place} needs one label: a text that is not O, without line breaks")
    if not (0 <= start < end <= len(text) and text[start:end].strip()):
        size = plural(len(text), "character")
        raise DataError(f"{place} has no words, or is not within the text, which has {size}")
    # Label Studio shortens white space and may escape line breaks.
    if isinstance(covered, str) and covered.replace("\\n", " ").split() != text[start:end].split():
        wrong = f"covers {shown(text[start:end])}, but its text is {shown(covered)}"
        raise DataError(f"{place} {wrong}. Offsets must count characters (code points) from 0")
    return start, end, label or ""


# --- tokens -------------------------------------------------------------------------------------------------


@cache
def _token() -> re.Pattern[str]:
    """A word, with its combining marks and joiners, or a single other character that is not white space."""
    marks = "".join(c for c in map(chr, range(0x300, 0x20000)) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"[\w{marks}\u200c\u200d]+|[^\s]")


def _labelled(text: str, spans: list[Span], counts: Counter[str]) -> tuple[list[str], list[str]]:
    """The tokens of a text, which end where spans begin or end, and their labels in BIO."""
    tokens, labels, before = list[str](), list[str](), 0
    # Text outside spans, and each span, is read by itself: a token that goes on behind is split.
    for start, end, label in [*spans, (len(text), len(text), "")]:
        for at, stop, kind in ((before, start, ""), (start, end, label)):
            found = _token().findall(text, at, stop)
            tokens += found
            labels += [f"{'I' if k else 'B'}-{kind}" if kind else "O" for k in range(len(found))]
        before = end
    counts["split"] += len(tokens) - len(_token().findall(text))
    return tokens, labels


# --- XML ----------------------------------------------------------------------------------------------------


def _fields(pieces: Iterable[bytes], name: str, is_text: bool, counts: Counter[str]) -> Iterator[Example]:
    """The strings of a collection, whose fields are tagged, as parserator writes it."""
    parser, first = expat.ParserCreate("utf-8"), next(pieces := iter(pieces))
    declared, pieces = _DECLARED.match(first), chain([first], pieces)
    if not is_text:
        pieces = recoded(pieces, declared[1].decode() if declared else "utf-8", name)
    path, texts, words, found = list[str](), list[str](), list[tuple[str, str]](), list[Example]()
    line, before = 1, ""  # of a string, and the last character of its last text

    def refuse(why: str, above: int = 0) -> NoReturn:
        raise DataError(f"{name}:{parser.CurrentLineNumber - above}: read as XML: {why}") from None

    def refuse_entity(entity: str, *_: Any) -> NoReturn:
        refuse(f"the entity {entity!r} is not read. Write its text instead")

    def end_text() -> None:
        nonlocal before
        text = "".join(texts)
        texts.clear()
        if text.strip() and len(path) < 3:
            why = f"{shown(' '.join(text.split()))} is in <{path[-1]}>, but in no field. Tag it"
            refuse(why, text.lstrip().count("\n"))
        counts["split"] += len("".join(f"{before}{text[:1]}".split())) == 2
        before = text[-1:] or before
        words.extend((word, path[-1]) for word in text.split())

    def start(tag: str, _: Any) -> None:
        nonlocal line
        end_text()
        path.append(tag)
        line = parser.CurrentLineNumber if len(path) == 2 else line
        if len(path) > 3:
            refuse(f"<{tag}> is in the field <{path[2]}>, which must have text only")

    def end(_: str) -> None:
        nonlocal before
        end_text()
        path.pop()
        if len(path) == 1:
            found.append(([word for word, _ in words], [tag for _, tag in words], line))
            words.clear()
            before = ""

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = texts.append
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refuse_entity
    try:
        for piece in chain(pieces, [b""]):
            parser.Parse(piece, not piece)
            yield from (example for example in found if example[0])
            counts["empty"] += sum(not tokens for tokens, *_ in found)
            found.clear()
    except expat.ExpatError as error:
        refuse(f"{expat.ErrorString(error.code)}. For columns, use {OPTIONS}")
