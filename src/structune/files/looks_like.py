"""Format detection: names the format of a text, for the error messages of readers of other formats."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from contextlib import suppress

from structune.errors import DataError

HEAD = 1 << 13  # bytes that tell what a file looks like
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_GFF = rf"[^\t\n]+\t[^\t\n]*\t[^\t\n]+\t\d+\t\d+\t(?:{_NUMBER}|\.)\t[-+.?]\t[012.]"
_PAIRS = r"[.()\[\]{}<>&]"
_BASES = r"[ACGUTNXacgutnx&]"
_TAGGED = r"[^\s_/]+[_/](?:[A-Z][A-Z\d$-]*|[^\w\s]+)"
_ESCAPED = re.compile("[\udc80-\udcff\ufffd]")  # bytes that are no UTF-8
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f]")
_MOST_CONTROLS, _MOST_ESCAPED = 0.01, 0.3  # shares of the characters of a text


def _formats(*table: tuple[str, str]) -> list[tuple[str, re.Pattern[str]]]:
    return [(name, re.compile(pattern, re.MULTILINE)) for name, pattern in table]


_BINARY = _formats(  # bytes that are no UTF-8 are lone surrogates, or replacement characters
    ("PDF", r"\A%PDF-"),
    ("a gzip file", "\\A\x1f[\x8b\udc8b\ufffd]"),
    ("a zip file", r"\APK\x03\x04"),
    ("a bzip2 file", r"\ABZh\d1AY"),
    ("an xz file", ".7zXZ\0"),
    ("a Zstandard file", "\\A\\(\udcb5/\udcfd"),
    ("UTF-16 text", "\\A(?:\udcff\udcfe|\udcfe\udcff|\ufffd\ufffd(?=.?\0)|(?:[^\0]\0){4}|(?:\0[^\0]){4})"),
)
_BY_START = _formats(  # of the whole text
    ("Stockholm", r"\A# STOCKHOLM"),
    ("NEXUS", r"\A#(?:NEXUS|nexus|Nexus)\b"),
    ("VCF", r"\A##fileformat=VCF|\A(?:##.*\n)*#CHROM\tPOS\t"),
    ("GFF3", r"\A##gff-version\s+3"),
    ("CoNLL-U", r"^# (?:sent_id|text|newdoc|newpar|global\.columns)\b(?: =|$)"),
    ("GenBank", r"\A(?:.*\n){0,10}?LOCUS {2,}\S"),
    ("Swiss-Prot", r"\AID {3}.*\bAA\.$"),
    ("EMBL", r"\AID {3}\S"),
    ("Clustal", r"\A(?:CLUSTAL|MUSCLE|PROBCONS|MSAPROBS|Clustal)\b|\A.*multiple sequence alignment"),
    ("MSF", r"\A!!(?:NA|AA)_MULTIPLE|\APileUp|^.*\bMSF: *\d+ .*\bCheck: *\d+"),
    ("MAF", r"\A##?maf\b"),
    ("output of BLAST", r"\A(?:# )?T?BLAST[NPX]\b"),
    ("output of EMBOSS", r"\A#{20,}\n# Program:"),
    ("HTML", r"\A<(?:!DOCTYPE|!doctype)? ?(?:html|HTML)\b"),
    ("XML", r"\A<(?:\?xml|!DOCTYPE|!--|[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=[^<>]*)?\s*/?>)"),
    ("training data of spaCy", r"""\A\[?\s*\(\s*["'].*["'],\s*\{\s*["']"""),
    ("JSONL", r"""\A[{\[].*[}\]]\n+[{\[]\s*["']"""),
    ("JSON", rf"\A(?:\{{\s*[\"'}}]|\[\s*(?:[\"\]]|\[\s*\"|\{{\s*[\"'}}]|\[?\s*{_NUMBER}\s*[],]))"),
    ("RDAT", r"\ARDAT_VERSION"),
    ("PDB", r"\A(?:HEADER {4}|ATOM {2}|REMARK {3}\d)"),
    ("mmCIF", r"\Adata_\S*\n(?:#|_|loop_)"),
    ("a profile of HMMER", r"\AHMMER3/"),
    ("a profile of Infernal", r"\AINFERNAL1/"),
    ("a feature template of CRF++", r"^[UB]\w*:%[xX]\["),
    ("a pattern file of Wapiti", r"^[*uUbB][\w*]*:.*%[xXtTmM]\["),
    ("FASTQ", r"\A@.*\n[A-Za-z.*-]+\n\+"),
    ("SAM", r"\A@(?:HD|SQ|RG|PG|CO)\t|\A[^\t\n]+\t\d+\t[^\t\n]+\t\d+\t\d+\t(?:\*|(?:\d+[MIDNSHP=X])+)\t"),
    ("PIR", r"\A>(?:P1|F1|D[LC]|R[LC]|N[13]|XX);(?!.*=)"),
    ("trees in brackets", r"\A\(\s*(?:[A-Za-z][\w$|=-]*\s+)?\([A-Z][\w$|=-]*\s+[^\s,]"),
    (".seq of RNAstructure", r"\A(?:;.*\n)+[^>\n]*\n(?:[A-Za-z \n]*)1\s*(?:\Z|\n)"),
)
_BY_BODY = _formats(  # without comments and blank lines
    ("Newick", r"\A\((?:[^;\n]*\n)*?[^;\n]*,(?:[^;\n]*\n)*?[^;\n]*\)[^;\n]*;"),
    ("CT", r"^\s*1\s+[A-Za-z]\s+0\s+[02]\s+\d+\s+\d+"),
    ("BPSEQ", r"^\s*1\s+[A-Za-z]\s+\d+$"),
    ("CoNLL-U", r"\A\d+(?:[-.]\d+)?(?:\t[^\t\n]*){9}$"),
    ("brat", r"\AT\d+\t\S+ \d+ \d+|\A[ER]\d+\t\S+:T\d+|\AR\d+\t\S+ Arg1:"),
    ("AUGUSTUS hints", rf"\A{_GFF}\t(?:.*;)?\s*(?:src|source)=[A-Z]+\b"),
    ("GTF", rf"\A{_GFF}\t\s*\w+ \".*\""),
    ("GFF3", rf"\A{_GFF}\t\s*\w[\w.]*=\S"),
    ("GFF2", rf"\A{_GFF}(?:\t|$)"),
    ("PAF", r"\A[^\t\n]+(?:\t\d+){3}\t[-+]\t[^\t\n]+(?:\t\d+){6}"),
    ("a table of BLAST", rf"\A[^\t\n]+\t[^\t\n]+\t{_NUMBER}(?:\t\d+){{7}}\t{_NUMBER}\t\s*{_NUMBER}$"),
    ("SJ.out.tab of STAR", r"\A[^\t\n]+\t\d+\t\d+\t[012]\t[0-6]\t[01]\t\d+\t\d+\t\d+$"),
    (
        "a table of RepeatMasker at UCSC",
        r"\A(?:bin\t)?swScore\t|\A(?:\d+\t){4,5}[^\t\n]+\t\d+\t\d+\t-?\d+\t[+-]\t",
    ),
    (
        "a table of RepeatMasker (.out)",
        r"\A\s*SW\s+perc\s+perc|\A\s*\d+(?:\s+\d+\.\d+){3}\s+\S+\s+\d+\s+\d+\s+\(\d+\)\s+[+C]\s",
    ),
    (
        "BED",
        r"\A(?:(?:track|browser)\s.*\n)*[^\t\n]+\t\d+\t\d+(?:\t|$)|\A(?:track|browser) \S"
        r"|\Achr\S* +\d+ +\d+(?: |$)",
    ),
    (
        "RNAfold -p output",
        rf"^[.(){{}}|,&]+\s+[\[{{]\s*{_NUMBER}(?:\s+d={_NUMBER})?\s*[\]}}]|frequency of mfe structure in",
    ),
    ("RNAsubopt output", rf"^{_BASES}+\s+{_NUMBER}\s+{_NUMBER}\n{_PAIRS}+\s+{_NUMBER}"),
    ("dot-bracket", rf"^{_BASES}+\n{_PAIRS}{{4,}}(?:\s+\(\s*{_NUMBER}\s*\))?$"),
    ("PHYLIP", r"\A\d+[ \t]+\d+(?:[ \t]+[IiSs])?\n\S.*[A-Za-z?-]{2}"),
    (
        "reactivities",
        rf"\A(?=[\s\S]*?(?:\.\d|-999))\d+\s+(?:[A-Za-z]\s+)?{_NUMBER}(?:\s+{_NUMBER}\s+[A-Za-z])?\n\d+\s",
    ),
    ("LETOR", rf"\A{_NUMBER}[ \t]+qid:"),
    ("SVMlight", rf"\A{_NUMBER}(?:,{_NUMBER})*[ \t]+\d+:{_NUMBER}(?:\s|$)"),
    (
        "A2M",
        r"\A>.*\n(?:[^>\n]*\n)*?(?=.*[A-Z])(?=.*[a-z])[A-Za-z]*\.[A-Za-z.-]*-|\A>.*\n[A-Z-]+\.[a-z.]+[A-Z-]",
    ),
    ("A3M", r"^(?=[a-z]*[A-Z-])(?=.*[a-z])(?=.*-)[A-Za-z*-]+$"),
    ("aligned FASTA", r"\A>.*\n(?:[^>\n]*\n)*?[A-Za-z.]*-[A-Za-z.-]*$"),
    ("FASTA", r"\A>.*\n[A-Za-z*]+(?:\n|\Z)"),
    ("tokens with tags, as in word|TAG", r"\A(?:[^\s|]+(?:\|[^\s|]+)+[ \t]+)+[^\s|]+(?:\|[^\s|]+)+$"),
    ("tokens with tags, as in word_TAG", rf"\A(?:{_TAGGED}[ \t]+)+{_TAGGED}$"),
    ("CoNLL", r"\A-DOCSTART-|\A\S+[ \t](?:\S+[ \t])*(?:[BIESLU]-\S+|O)$"),
    ("plain text", r"\A[\"'(]?[A-Z]\S*(?: +\S+){2,} +\S*\w[.!?][\"')]?$"),
)
_CURES = {  # what to do, whatever is read
    "UTF-16 text": "save it as UTF-8 first",
    "EMBL": "convert it to FASTA first",
    **dict.fromkeys(["a zip file", "a bzip2 file", "an xz file", "a Zstandard file"], "unpack it first"),
}
_SEPARATED = (("tab-separated columns", "\t"), ("CSV", ","), ("CSV", ";"))


def looks_like(head: str) -> str | None:
    """Guess the format of a text: its usual name, or None if it is not recognized.

    Use it when a reader has failed, or where reading on would be a guess, too.

    Parameters
    ----------
    head : str
        The first few thousand characters; binary files are decoded by ``surrogateescape`` or ``replace``.
    """
    head = head.removeprefix("\ufeff")
    if found := _first(_BINARY, head):
        return found
    controls, escaped = len(_CONTROLS.findall(head)), len(_ESCAPED.findall(head))
    if controls > _MOST_CONTROLS * len(head) or escaped > _MOST_ESCAPED * len(head):
        return "binary data"
    # the start of the text says more than the form of its lines; the first match of each table counts
    text = head.replace("\r\n", "\n").replace("\r", "\n").lstrip()
    if found := _first(_BY_START, text):
        return found
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    return _first(_BY_BODY, "\n".join(line.rstrip(" ") for line in lines)) or _separated(lines)


def named_by_look(
    error: DataError, head: bytes, read: Collection[str], advice: str | Mapping[str, str] = ""
) -> DataError:
    """The error of a reader, extended by the detected format if it is none of those in `read`.

    `head` is the uncompressed start of the file. `advice` may map formats to texts; "" is for all others.
    """
    found = looks_like(head[:HEAD].decode(errors="surrogateescape"))
    if found is None or found in read or " looks like " in str(error):
        return error
    by_format = _CURES | ({"": advice} if isinstance(advice, str) else dict(advice))
    advice = by_format.get(found, by_format[""])
    message = str(error).rstrip(".")
    return DataError(f"{message}. The file looks like {found}{f': {advice}' if advice else '.'}")


def _first(formats: list[tuple[str, re.Pattern[str]]], text: str) -> str | None:
    return next((name for name, pattern in formats if pattern.search(text)), None)


def _separated(lines: list[str]) -> str | None:
    """The format of lines with equal numbers of columns; the last line may be cut."""
    whole = lines[:-1] if len(lines) > 2 else lines
    for name, separator in _SEPARATED if len(whole) > 1 else ():
        with suppress(csv.Error):  # of fields that are too long
            if len(counts := set(map(len, csv.reader(whole, delimiter=separator)))) == 1 and counts != {1}:
                return name
    if len(whole) > 2 and len(counts := {len(line.split()) for line in whole}) == 1 and counts != {1}:
        return "columns of words"
    return None
