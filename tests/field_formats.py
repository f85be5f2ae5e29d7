"""One small file of every format that people of these fields have, each as its own tools write it.

``FORMATS`` has of each the name of the file, its bytes, and the names that an error may call it by.
"""

import gzip
import json
from typing import NamedTuple


class Sample(NamedTuple):
    file: str
    data: bytes
    names: str  # a regular expression


def _gff(*rows):
    return "".join("\t".join(row.split()[:8]) + "\t" + row.split(None, 8)[8] + "\n" for row in rows)


_GENE = "ATGAAACGCATTAGCACCACCATTACCACCACCATCACCATTACCACAGGTAACGGTGCGGGCGCTAAAGATCTGCGTAACGGCATTGCGTTCTGA"
_SEQUENCES = ">one first\nGGGGAAAACCCCUUAGC\n>two\nGGGAAACCCAUG\n"
_PROTEINS = ">sp|P1|ONE_HUMAN\nMKVLAAGIVGLLLAQWE\n>two\nMKVLAGIVGLAQWE\n>three\nMKILAAGIGLLAQWD\n"
_CONLLU = (
    "# sent_id = s1\n# text = Don't go.\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tDo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_\n"
    "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\n3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No\n"
    "4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_\n\n"
)
_SPACY = [
    {
        "id": 0,
        "paragraphs": [
            {"raw": "I live in Rome", "sentences": [{"tokens": [{"orth": "I", "tag": "PRP", "ner": "O"}]}]}
        ],
    }
]
_GENBANK = (
    "LOCUS       AB000001                  96 bp    DNA     linear   BCT 01-JAN-2020\n"
    "DEFINITION  A made-up record.\nACCESSION   AB000001\nVERSION     AB000001.1\n"
    "FEATURES             Location/Qualifiers\n"
    '     source          1..96\n                     /organism="Escherichia coli"\n'
    "     CDS             1..96\n"
    '                     /gene="abc"\n                     /codon_start=1\nORIGIN\n'
    + "".join(
        f"{k + 1:9d} {' '.join(_GENE.lower()[k : k + 60][j : j + 10] for j in range(0, 60, 10)).strip()}\n"
        for k in (0, 60)
    )
    + "//\n"
)
_STOCKHOLM = (
    "# STOCKHOLM 1.0\n#=GF ID toy\none         GGGGAAAACCCC\ntwo         GGGCAAAAGCCC\n"
    "#=GC SS_cons ((((....))))\n//\n"
)

FORMATS = {
    # taggers
    "CRF++": Sample(
        "train.data",
        b"He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n\nIt PRP B-NP\nis VBZ B-VP\n\n",
        "CoNLL|column",
    ),
    "template of CRF++": Sample(
        "template", b"# Unigram\nU00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[0,0]/%x[0,1]\n\nB\n", "template"
    ),
    "patterns of Wapiti": Sample(
        "pattern.txt", b'*:tok=%x[0,0]\nu:suf=%m[0,0,".?.?$"]\nb\n', "pattern|template"
    ),
    "Wapiti": Sample(
        "train.wapiti", b"Paris NNP LOC\nis VBZ O\nnice JJ O\n\nRome NNP LOC\nfell VBD O\n", "CoNLL|column"
    ),
    "CRFsuite": Sample(
        "train.crfsuite",
        b"B-NP\tw[0]=He\tpos=PRP:0.5\tbias\nB-VP\tw[0]=is\tpos=VBZ\tbias\n\nO\tw[0]=a\\:b\n",
        "CRFsuite|column",
    ),
    "CoNLL-2000": Sample(
        "train.txt", b"Confidence NN B-NP\nin IN B-PP\nthe DT B-NP\n\n# # O\n, , O\n", "CoNLL|column"
    ),
    "CoNLL-2003": Sample(
        "eng.train",
        b"-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n",
        "CoNLL|column",
    ),
    "CoNLL-U": Sample("en.conllu", _CONLLU.encode(), "CoNLL-U"),
    "CoNLL of MultiCoNER": Sample(
        "en-train.conll",
        b"# id 5239d808-f300\tdomain=en\neli _ _ B-PER\nlilly _ _ I-PER\nfounded _ _ O\n\n"
        b"# id 77\tdomain=en\nrome _ _ B-LOC\n",
        "CoNLL|column",
    ),
    "tab-separated tokens": Sample(
        "cities.tsv", b"New York\tB-LOC\nis\tO\n\nSan Jose\tB-LOC\nfell\tO\n", "column|CoNLL|tab"
    ),
    "word|tag": Sample("aij.txt", b"The|DT|O cat|NN|O sat|VBD|O\nRome|NNP|B-LOC fell|VBD|O\n", r"\|"),
    "JSONL": Sample(
        "train.jsonl",
        b'{"text": "I live in Rome", "label": [[10, 14, "LOC"]]}\n{"text": "Hi", "label": []}\n',
        "JSON",
    ),
    "JSON of spaCy": Sample("train.json", json.dumps(_SPACY, indent=1).encode(), "JSON"),
    "DocBin of spaCy": Sample(
        "train.spacy", b"x\x9c\xed\x98\xcbn\xd40\x14\x86\x00\x01\x02\xff" * 8, "binary|compressed"
    ),
    "brat": Sample("doc.ann", b"T1\tORG 0 5\tApple\nT2\tLOC 10 14\tRome\nR1\tin Arg1:T1 Arg2:T2\n", "brat"),
    "XML": Sample(
        "train.xml",
        b'<?xml version="1.0"?>\n<collection>\n<Name>Rome</Name> <Verb>fell</Verb>\n</collection>\n',
        "XML",
    ),
    "HTML": Sample(
        "page.html",
        b"<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found</body></html>\n",
        "HTML",
    ),
    "CSV with quotes": Sample(
        "ner.csv",
        b'Sentence #,Word,POS,Tag\nSentence: 1,"Thousands, of",NNS,O\n,London,NNP,B-geo\n,",",",",O\n',
        "CSV|comma",
    ),
    "broken CoNLL-U": Sample(  # without blank lines, and a row without its last column
        "odd.conllu", _CONLLU.replace("\n\n", "\n").replace("\tSpaceAfter=No", "").encode(), "CoNLL-U"
    ),
    "GermEval": Sample(
        "NER-de-train.tsv",
        b"#\thttp://de.wikipedia.org/wiki/Rom [2009-10-17]\n1\tRom\tB-LOC\tO\n2\tfiel\tO\tO\n\n",
        "CoNLL|column",
    ),
    "a sentence a line": Sample(
        "sentences.tsv", b"tokens\tner_tags\nRome fell\tB-LOC O\nIt is so\tO O O\n", "sentence a line|column"
    ),
    "word_TAG": Sample("brown.txt", b"The_DT cat_NN sat_VBD\nRome_NNP fell_VBD\n", "tag after _|word_TAG"),
    "Penn Treebank": Sample(
        "wsj.mrg", b"( (S\n    (NP-SBJ (NNP Rome) )\n    (VP (VBD fell) )))\n", "brackets"
    ),
    "plain text": Sample("news.txt", b"Rome fell on a Monday.\nNobody knows why it did.\n", "text"),
    "training data of spaCy": Sample(
        "train.py", b'[("Rome fell", {"entities": [(0, 4, "LOC")]}),\n("Hi", {"entities": []})]\n', "spaCy"
    ),
    "JSONL with single quotes": Sample(
        "data.jsonl", b"{'text': 'Rome fell', 'label': []}\n{'text': 'Hi', 'label': []}\n", "JSON"
    ),
    "quoted CSV": Sample("quoted.csv", b'word,label\n"Smith, John",B-PER\nis,O\n', "CSV|comma"),
    # RNA
    "FASTA of RNA": Sample("rna.fa", _SEQUENCES.encode(), "FASTA|no sequence named"),
    "masked FASTA": Sample(
        "masked.fa",
        b">m\nGGGGNNNNAAAACCCC\nNNNNNNNNGGCC\n>n\nGGGGXXXXCCCC\nXXXX\n",
        "FASTA|no sequence named",
    ),
    "constraints below sequences": Sample(
        "constrained.fa",
        b">a\nGGGGAAAACCCC\nxxxxxxxxxxxx\n>b\nGGGAAACCC\nxxxxxxxxx\n",
        "constraint|FASTA|no sequence named",
    ),
    "dot-bracket": Sample(
        "known.dbn", b">one\nGGGGAAAACCCC\n((((....))))\n>two\nGGGAAACCC\n(((...)))\n", "dot-bracket"
    ),
    "RNAfold": Sample(
        "out.fold",
        b">one\nGGGGAAAACCCC\n((((....)))) ( -5.40)\n>two\nGGGAAACCC\n(((...))) ( -1.20)\n",
        "dot-bracket|RNAfold",
    ),
    "RNAfold -p": Sample(
        "p.fold",
        b">one\nGGGGAAAACCCC\n((((....)))) ( -5.40)\n((((....)))) [ -5.45]\n((((....)))) { -5.40 d=0.25}\n"
        b" frequency of mfe structure in ensemble 0.926; ensemble diversity 0.41\n",
        "RNAfold",
    ),
    "RNAsubopt": Sample(
        "out.subopt",
        b">one [100]\nGGGGAAAACCCC -540 100\n((((....))))  -5.40\n.(((....))).  -4.50\n",
        "RNAsubopt",
    ),
    "RNAcofold": Sample(
        "co.fold", b">one\nGGGGAAAA&UUUUCCCC\n((((((((&)))))))) (-11.20)\n", "dot-bracket|RNAfold|RNAcofold"
    ),
    ".seq": Sample("one.seq", b";\nA made-up RNA\n\nGGGGAAAACCCCUU AGCG\nGGC1\n", r"\.seq|RNAstructure"),
    ".ct": Sample(
        "one.ct",
        b"9 ENERGY = -1.2  one\n1 G 0 2 9 1\n2 G 1 3 8 2\n3 G 2 4 7 3\n4 A 3 5 0 4\n5 A 4 6 0 5\n"
        b"6 A 5 7 0 6\n"
        b"7 C 6 8 3 7\n8 C 7 9 2 8\n9 C 8 0 1 9\n",
        "CT",
    ),
    ".ct of two structures": Sample(
        "two.ct",
        b"5 dG = -1.2  one\n1 G 0 2 5 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 A 3 5 0 4\n5 C 4 0 1 5\n"
        b"5 dG = 0.0  one\n1 G 0 2 0 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 A 3 5 0 4\n5 C 4 0 0 5\n",
        "CT",
    ),
    "BPSEQ": Sample(
        "one.bpseq", b"# one\n1 G 9\n2 G 8\n3 G 7\n4 A 0\n5 A 0\n6 A 0\n7 C 3\n8 C 2\n9 C 1\n", "BPSEQ"
    ),
    ".react": Sample(
        "one.react", b"1\t0.12\n2\t0.33\n3\t-999\n4\t1.20\n5\t0.80\n6\t0.01\n", "reactivit|column"
    ),
    ".map": Sample(
        "one.map", b"1\t0.12\t0.01\tG\n2\t0.33\t0.02\tG\n3\t-999\t0\tG\n4\t1.2\t0.3\tG\n", "reactivit|column"
    ),
    "Stockholm of RNA": Sample("family.sto", _STOCKHOLM.encode(), "Stockholm"),
    # alignments
    "FASTA of proteins": Sample("proteins.fa", _PROTEINS.encode(), "FASTA|protein"),
    "aligned FASTA": Sample("aligned.fa", b">one\nMKVLAAGIV--LLAQWE\n>two\nMKVLA-GIVGLLLAQWE\n", "FASTA|gap"),
    "A3M": Sample(
        "hits.a3m", b">query\nMKVLAAGIVGLLL\n>hit\nMKV--AGIVqqeGLLL\n>hit2\nMRVLAaGIVGL--L\n", "A3M|A2M|gap"
    ),
    "Clustal": Sample(
        "out.aln",
        b"CLUSTAL W (1.83) multiple sequence alignment\n\none      MKVLAAGIV--LLAQWE\n"
        b"two      MKVLA-GIVGLLLAQWE\n         ***** ***  ******\n",
        "Clustal",
    ),
    "MSF": Sample(
        "out.msf",
        b"!!AA_MULTIPLE_ALIGNMENT 1.0\n\n out.msf  MSF: 10  Type: P  Check: 1234  ..\n\n"
        b" Name: one  Len: 10  Check: 111  Weight: 1.00\n"
        b" Name: two  Len: 10  Check: 222  Weight: 1.00\n\n//\n\none  MKVLAAGIV.\ntwo  MKVLA.GIVG\n",
        "MSF",
    ),
    "PileUp": Sample(
        "pileup.msf",
        b"PileUp\n\n\n\n   MSF:   10  Type: P    Check:  1234   .. \n\n"
        b" Name: one oo  Len:   10  Check:  111  Weight:  1.0\n"
        b" Name: two oo  Len:   10  Check:  222  Weight:  1.0\n\n//\n\n\n\n"
        b"one      MKVLAAGIV.\ntwo      MKVLA.GIVG\n",
        "MSF",
    ),
    "PHYLIP": Sample("out.phy", b" 2 12\none       MKVLAAGIV-LL\ntwo       MKVLA-GIVGLL\n", "PHYLIP"),
    "NEXUS": Sample(
        "out.nex",
        b"#NEXUS\nbegin data;\ndimensions ntax=2 nchar=10;\nformat datatype=protein gap=-;\n"
        b"matrix\none MKVLAAGIV-\ntwo MKVLA-GIVG\n;\nend;\n",
        "NEXUS",
    ),
    "PIR": Sample(
        "one.pir", b">P1;ONE\nA made-up protein\nMKVLAAGIVGLLLAQWE*\n>P1;TWO\nAnother\nMKVLAGIV*\n", "PIR"
    ),
    "Newick": Sample("tree.nwk", b"((one:0.1,two:0.2):0.05,three:0.3);\n", "Newick"),
    "UniProt": Sample(
        "one.dat",
        b"ID   ONE_HUMAN               Reviewed;          17 AA.\nAC   P00001;\n"
        b"SQ   SEQUENCE   17 AA;  1900 MW;  0 CRC64;\n     MKVLAAGIVG LLLAQWE\n//\n",
        "Swiss-Prot|UniProt|EMBL",
    ),
    # genes
    "FASTA of DNA": Sample("contig.fa", f">contig\n{_GENE}\n>other\n{_GENE[::-1]}\n".encode(), "FASTA"),
    "GenBank": Sample("record.gb", _GENBANK.encode(), "GenBank"),
    "EMBL": Sample(
        "record.embl",
        b"ID   AB000001; SV 1; linear; genomic DNA; STD; PRO; 96 BP.\nAC   AB000001;\n"
        b"FH   Key             Location/Qualifiers\n"
        b"FT   CDS             1..96\nSQ   Sequence 20 BP; 5 A; 5 C; 5 G; 5 T; 0 other;\n"
        b"     atgaaacgca ttagcaccac         20\n//\n",
        "EMBL",
    ),
    "GFF3": Sample(
        "genes.gff3",
        (
            "##gff-version 3\n"
            + _gff("contig x gene 1 96 . + . ID=g1", "contig x CDS 1 96 . + 0 ID=c1;Parent=g1")
        ).encode(),
        "GFF3|##FASTA|a region to avoid",
    ),
    "GTF": Sample(
        "genes.gtf",
        _gff(
            'contig x exon 1 96 . + . gene_id "g1"; transcript_id "t1";',
            'contig x CDS 1 93 . + 0 gene_id "g1"; transcript_id "t1";',
        ).encode(),
        "GTF|GFF|a region to avoid",
    ),
    "GFF2": Sample(
        "genes.gff",
        _gff('contig RepeatMasker similarity 5 20 12.3 + . Target "Motif:L1" 1 16').encode(),
        "GFF|GTF|similarity",
    ),
    "hints of AUGUSTUS": Sample(
        "hints.gff",
        _gff(
            "contig b2h intron 10 30 0 + . mult=3;pri=4;src=E", "contig w2h ep 5 9 12 . . src=W;pri=4"
        ).encode(),
        "AUGUSTUS|GFF|hints|a region to avoid",
    ),
    "BED": Sample("regions.bed", b"track name=x\ncontig\t0\t66\tg1\t0\t+\ncontig\t70\t90\tg2\t0\t-\n", "BED"),
    "bedGraph": Sample(
        "cover.bedgraph", b"track type=bedGraph\ncontig\t0\t10\t1.5\ncontig\t10\t20\t3\n", "BED|bedGraph"
    ),
    "SJ.out.tab": Sample(
        "SJ.out.tab", b"contig\t10\t30\t1\t1\t0\t7\t2\t30\ncontig\t40\t66\t2\t2\t1\t0\t5\t30\n", "SJ.out.tab"
    ),
    "RepeatMasker .out": Sample(
        "contig.fa.out",
        b"   SW   perc perc perc  query     position in query    matching       repeat\n"
        b"score   div. del. ins.  sequence  begin end   (left)   repeat         class/family\n\n"
        b"  463   1.3  0.6  1.7  contig        5   20     (76) +  (TAACCC)n  Simple_repeat  1 16 (0) 1\n",
        "RepeatMasker",
    ),
    "rmsk of UCSC": Sample(
        "rmsk.txt",
        b"#bin\tswScore\tmilliDiv\tmilliDel\tmilliIns\tgenoName\tgenoStart\tgenoEnd\tgenoLeft\tstrand\trepName\n"
        b"585\t463\t13\t6\t17\tcontig\t4\t20\t-76\t+\t(TAACCC)n\n",
        "RepeatMasker",
    ),
    "BED with blanks": Sample("blanks.bed", b"track name=x\nchr1 0 66 g1 0 +\nchr1 70 70 g2 0 -\n", "BED"),
    "VCF": Sample(
        "calls.vcf",
        b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        b"contig\t5\t.\tA\tG\t50\tPASS\t.\n",
        "VCF",
    ),
    "SAM": Sample(
        "reads.sam",
        b"@HD\tVN:1.6\n@SQ\tSN:contig\tLN:96\nr1\t0\tcontig\t1\t60\t10M\t*\t0\t0\tATGAAACGCA\tIIIIIIIIII\n",
        "SAM",
    ),
    "FASTQ": Sample("reads.fq", b"@r1\nATGAAACGCA\n+\nIIIIIIIIII\n@r2\nGGGGAAAACC\n+\nIIIIIIIIII\n", "FASTQ"),
    # tables
    "SVMlight": Sample("train.svm", b"1 1:0.5 3:1\n-1 2:0.25 # a comment\n1 1:2\n", "SVMlight"),
    "LETOR": Sample(
        "train.letor",
        b"2 qid:10 1:0.03 2:0.5 #docid = 1\n0 qid:10 1:0.1 2:0.2\n1 qid:11 1:0.3 2:0.9\n",
        "LETOR",
    ),
    "CSV": Sample("table.csv", b"a,b,class\n1,2,x\n3,4,y\n", "CSV|comma"),
    "TSV": Sample("table.tsv", b"a\tb\tclass\n1\t2\tx\n3\t4\ty\n", "tab"),
    # whatever else
    "PDF": Sample(
        "paper.pdf", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n", "PDF"
    ),
    "zip": Sample("data.zip", b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(range(40)) * 4, "zip|binary"),
    "BAM": Sample("reads.bam", gzip.compress(b"BAM\x01" + bytes(range(64)) * 4, mtime=0), "binary|BAM|gzip"),
    "UTF-16": Sample("notepad.fa", ">one\nGGGGAAAACCCC\n".encode("utf-16"), "UTF-16|binary"),
    "nothing": Sample("empty.txt", b"", "empty|no |nothing"),
}
