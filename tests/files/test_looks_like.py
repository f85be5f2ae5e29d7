"""Formats are named by what their files begin with, and other text is not."""

import bz2
import gzip
import lzma

import pytest

from structune.files.looks_like import looks_like

EXAMPLES = {
    "FASTA": [">a\nACGT\nACGT\n", ">sp|P1|X_HUMAN desc\nMKV*\n", ">a\r\nACGT\r\n", ">a\rACGT\r"],
    "FASTQ": ["@r1 x\nACGTN\n+\nIIIII\n", "@HD_like\nACGTN\n+r\nIIIII\n"],
    "GenBank": ["LOCUS       X 10 bp DNA\nORIGIN\n 1 acgt\n//\n"],
    "EMBL": ["ID   X56734; SV 1; linear; mRNA; STD; PLN; 1859 BP.\nXX\nSQ   Sequence\n"],
    "Swiss-Prot": ["ID   CYC_HUMAN   Reviewed;   105 AA.\nAC   P99999;\n"],
    "GFF3": [
        "##gff-version 3\nc\ts\tgene\t1\t9\t.\t+\t.\tID=a\n",
        "c\ts\tgene\t1\t9\t.\t+\t.\tID=a;Name=b\n",
    ],
    "GTF": ['# made\nc\ts\texon\t1\t9\t.\t+\t.\tgene_id "a"; transcript_id "b";\n'],
    "GFF2": ["c\ts\texon\t1\t9\t0.5\t-\t0\tgroup1\n", "##gff-version 2\nc\ts\texon\t1\t9\t.\t-\t0\n"],
    "AUGUSTUS hints": ["c\tb2h\tep\t1\t9\t0\t+\t.\tgrp=a;pri=4;src=E\n"],
    "BED": ["c\t1\t9\n", "track name=a\nc\t1\t9\tx\t0\t+\n", "browser position c:1-9\n"],
    "VCF": ["##fileformat=VCFv4.2\n#CHROM\tPOS\n", "#CHROM\tPOS\tID\tREF\tALT\n"],
    "SAM": ["@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n", "r\t0\tc\t7\t30\t8M2I4M\t*\t0\t0\tACGT\t*\n"],
    "Clustal": ["CLUSTAL W (1.82)\n\na  ACGT\n", "MUSCLE (3.8) multiple sequence alignment\n\na ACGT\n"],
    "Stockholm": ["# STOCKHOLM 1.0\na ACGT\n//\n"],
    "MSF": [
        "!!NA_MULTIPLE_ALIGNMENT 1.0\n",
        "PileUp\n\n MSF: 9 Type: N Check: 1 ..\n",
        " x.msf  MSF: 50  Type: P  Jan  Check: 17 ..\n\n Name: a Len: 5\n",
    ],
    "PIR": [">P1;CRAB_ANAPL\nALPHA CRYSTALLIN\nMDITIHN*\n", ">DL;a\nx\nACGT*\n"],
    "NEXUS": ["#NEXUS\nBEGIN DATA;\n"],
    "PHYLIP": [" 2 8\nalpha     ACGTACGT\nbeta      ACGTACGT\n", "2 4 I\na  ACGT\n"],
    "A3M": [">a\nMKVLA\n>b\nMK-LAaag\n>c\n-KVddLA\n"],
    "A2M": [">a\nMKV..LA\n>b\nM-VddLA\n"],
    "aligned FASTA": [">a\nACG-T\n>b\nACGAT\n"],
    "Newick": ["(a:0.1,(b:0.2,c:0.3):0.4);\n", "((a,b),\n c)root;"],
    "CT": ["5 ENERGY = -1.2 name\n1 G 0 2 5 1\n2 C 1 3 0 2\n", "# c\n 5 x\n    1 G       0    2    5    1\n"],
    "BPSEQ": ["Filename: a.bpseq\n1 G 5\n2 C 0\n", "1 G 0\n"],
    "dot-bracket": [
        ">a\nGGGAAACCC\n(((...)))\n",
        "GGGAAACCC\n(((...))) ( -1.20)\n",
        ">c\nGGGA&CCCA\n(((.&))).\n",
    ],
    "RNAfold -p output": [
        ">a\nGGGAAACCC\n(((...))) ( -1.20)\n{{{...}}} [ -1.50]\n(((...))) { -1.20 d=1.1}\n",
        "GGGAAACCC\n(((...)))\n frequency of mfe structure in ensemble 0.6\n",
    ],
    "RNAsubopt output": [">a\nGGGAAACCC   -120    100\n(((...)))  -1.20\n"],
    ".seq of RNAstructure": [";\ntRNA\nGCGGAUUU AGCU\nGGA1\n", "; a\n;\n\nGCGGA1\n"],
    "reactivities": ["1 0.5\n2 -999\n", "1\tA\t0.5\n2\tC\t0.1\n", "1\t-999\t0\tG\n2\t0.4\t0.1\tG\n"],
    "RDAT": ["RDAT_VERSION 0.34\nNAME x\n"],
    "JSON": ['{"a": 1}', '[\n  {"tokens": []}]', "[[1, 2], [3]]", "[0.5, 1]", '["a"]'],
    "JSONL": ['{"text": "a"}\n{"text": "b"}\n', "{'text': 'a'}\n{'text': 'b'}\n"],
    "XML": ['<?xml version="1.0"?>\n<rnaml>', "<doc>\n", "<s id='1'>a</s>", "<!DOCTYPE rnaml SYSTEM>"],
    "HTML": ["<!DOCTYPE html>\n", "<html><body>"],
    "CSV": ["a,b\n1,x\n2,y\n", "a;b;c\n1;2;3\n"],
    "tab-separated columns": ["id\tsequence\na\tACGT\n"],
    "CoNLL-U": [
        "# sent_id = s1\n# text = A b\n1\tA\ta\tX\tY\t_\t0\troot\t_\t_\n",
        "1-2\tdu" + "\t_" * 8 + "\n",
    ],
    "CoNLL": ["EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n", "-DOCSTART- -X- O O\n", "a\tO\nb\tB-X\n"],
    "tokens with tags, as in word_TAG": ["The_DT dog_NN ._.\n", "The/DT dog/NN\n"],
    "plain text": ["Rome fell on a Monday.\nWhy?\n"],
    "trees in brackets": ["( (S\n    (NP-SBJ (NNP Mr.) )\n", "(S (NP (DT The) (NN dog)))\n"],
    "training data of spaCy": ['[("a b", {"entities": []}),\n', "('a b', {'entities': []})\n"],
    "brat": ["T1\tPER 0 5\tJames\n"],
    "SVMlight": ["+1 1:0.5 7:1\n", "3,4 2:1\n"],
    "LETOR": ["2 qid:10 1:0.5\n"],
    "a feature template of CRF++": ["# Unigram\nU00:%x[-2,0]\n"],
    "a pattern file of Wapiti": ["*:cur=%x[0,0]\n"],
    "PDF": ["%PDF-1.4\n"],
}
NEITHER = [
    "",
    "GGGAAACCC\n",
    "ACGUACGU\nACGU\n",
    "the cat, it sat\non a mat\n",
    "[[[...]]]\n",
    "<<<...>>>\n",
    "((((...))))\n",
    "{{{[[...]]}}}\n",
    "word\n\nother\n",
]
BINARY = {
    "a gzip file": gzip.compress(b"ACGT", mtime=0),
    "a zip file": b"PK\x03\x04\x14\0\0\0",
    "a bzip2 file": bz2.compress(b"ACGT"),
    "an xz file": lzma.compress(b"ACGT"),
    "a Zstandard file": b"\x28\xb5\x2f\xfd\x04\x00",
    "UTF-16 text": ">a\nGGGAAACCC\n".encode("utf-16"),
    "binary data": bytes(range(256)) * 4,
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in EXAMPLES.items() for text in texts]
)
def test_formats_are_named(name, text):
    assert looks_like(text) == name
    assert looks_like("\ufeff" + text) == name


@pytest.mark.parametrize("text", NEITHER)
def test_other_text_is_not(text):
    assert looks_like(text) is None


@pytest.mark.parametrize("errors", ["surrogateescape", "replace"])
@pytest.mark.parametrize(("name", "data"), BINARY.items())
def test_bytes_that_are_no_text_are_told(name, data, errors):
    found = looks_like(data.decode("utf-8", errors))
    assert found == name if errors == "surrogateescape" else found is not None
    assert looks_like("\u00e9t\u00e9 Zo\udce9 caf\udce9 au lait\n") is None  # Latin-1 is text
