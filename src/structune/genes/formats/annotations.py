"""Genes in files of either kind, GFF3 or GTF."""

from __future__ import annotations

import re
import sys

from structune.files.text import Lines, Source
from structune.genes.formats.gff3 import parse_gff3
from structune.genes.formats.gtf import parse_gtf
from structune.genes.formats.parts import GeneAnnotation

# the last column has key "value"; or, by AUGUSTUS, a name alone
_GTF = re.compile(r'(?!\.\Z)[^\s=]+( +[^=]*)?\Z|[^\s=]+ +"')


def read_annotation(source: Source) -> GeneAnnotation:
    """Read the genes of a file as `read_gff3` does, or as `read_gtf` if its first feature is one of GTF.

    Parameters
    ----------
    source : path or file object
        Compressed by gzip or not; a file object may be binary or text, and is left open.

    Raises
    ------
    DataError
        As those do.
    """
    return parse_annotation(Lines(source))


def parse_annotation(lines: Lines) -> GeneAnnotation:
    every = (text for text in lines.head(sys.maxsize) if text and not text.startswith("#"))
    with lines.told_by_look(("GFF3", "GTF")):
        columns = next(every, "").split("\t", 8)
        return parse_gtf(lines) if len(columns) > 8 and _GTF.match(columns[8]) else parse_gff3(lines)
