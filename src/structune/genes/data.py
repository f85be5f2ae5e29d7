"""Data sets of annotated genomes and parts of genomes."""

from __future__ import annotations

import gzip
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from structune.errors import DataError
from structune.files.data_sets import find
from structune.genes.formats.dna import read_dna
from structune.genes.formats.genbank import read_genbank
from structune.genes.formats.genomes import annotated
from structune.genes.formats.gff import GeneAnnotation, read_gff3
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript

_FILES = {  # the beginning of their names, and the ends: of GenBank, or of GFF3 and FASTA
    "fly_train": ("eukaryotes/examples_chr2L_genes", ".gb.train"),
    "fly_test": ("eukaryotes/examples_chr2L_genes", ".gb.test"),
    "a_thaliana": ("eukaryotes/at", ".gff3", ".fa"),
    "c_elegans": ("eukaryotes/ce", ".gff3", ".fa"),
    "a_pernix": ("bacteria/mgm2_Aeropyrum_pernix_K1", ".gff", ".fasta"),
    "b_subtilis": ("bacteria/Bacillus_subtilis_best7003.ASM52304v1", ".46.gff3", ".dna.toplevel.fa"),
    "c_crescentus": ("bacteria/Caulobacter_crescentus_cb15.ASM690v1", ".46.gff3", ".dna.toplevel.fa"),
    "e_coli": ("bacteria/GCF_000005845.2_ASM584v2_genomic", ".gbff"),
    "e_coli_iai39": ("bacteria/ecoli_NC_011750", ".gbk"),
    "h_salinarum": ("bacteria/mgm2_Halobacterium_salinarum_R1", ".gff", ".fasta"),
    "m_mazei": ("bacteria/GCF_000970165.1_genomic", ".gbff"),
    "m_tuberculosis": ("bacteria/mgm2_Mycobacterium_tuberculosis_H37Rv", ".gff", ".fasta"),
    "n_pharaonis": ("bacteria/mgm2_Natronomonas_pharaonis_DSM_2160", ".gff", ".fasta"),
    "p_aeruginosa": ("bacteria/pao1_NC_002516", ".gff", ".fasta"),
    "p_fluorescens": ("bacteria/Pseudomonas_fluorescens.ASM73042v1", ".46.gff3", ".dna.toplevel.fa"),
    "p_furiosus": ("bacteria/pfu_CP023154", ".gff", ".fna"),
    "s_acidocaldarius": ("bacteria/saci_NC_007181.1", ".gff", ".fasta"),
    "synechocystis": ("bacteria/mgm2_Synechocystis_PCC_6803", ".gff", ".fasta"),
}
PROKARYOTES: dict[str, Any] = {
    "life": {
        "bacteria": {
            "proteobacteria": {
                "gammaproteobacteria": {"e_coli": None, "pseudomonas": ["p_aeruginosa", "p_fluorescens"]},
                "c_crescentus": None,
            },
            "terrabacteria": ["b_subtilis", "m_tuberculosis", "synechocystis"],
        },
        "archaea": {
            "euryarchaeota": {
                "halobacteria": ["h_salinarum", "n_pharaonis"],
                "others": ["m_mazei", "p_furiosus"],
            },
            "crenarchaeota": ["a_pernix", "s_acidocaldarius"],
        },
    }
}  # the taxonomy of the genomes of bacteria and archaea, as `TaskTree.from_nested` takes it
_VERIFIED = {
    "a_pernix": "Aeropyrum_pernix_K1_uid57757",
    "e_coli": "Escherichia_coli_K_12_substr__MG1655_uid57779",
    "h_salinarum": "Halobacterium_salinarum_R1_uid61571",
    "m_tuberculosis": "Mycobacterium_tuberculosis_H37Rv_uid57777",
    "n_pharaonis": "Natronomonas_pharaonis_DSM_2160_uid58435",
    "synechocystis": "Synechocystis_PCC_6803_uid57659",
}
_CONTIGS = {  # names of annotations, and those of the sequences that they are of
    "chromosome": "NC_002516.2",
    "NC_000913": "NC_000913.3",
    "NC_000962": "NC_000962.3",
    **{f"{name}.1": name for name in ("NC_007426", "NC_007427", "NC_007428")},
    **{f"{name}.1": name for name in ("NC_010366", "NC_010367", "NC_010368", "NC_010369")},
}


def load_genes(name: str) -> list[AnnotatedSequence]:
    """Load annotated DNA sequences from files in the data folder.

    Parameters
    ----------
    name : str
        - "fly_train" and "fly_test": 392 and 100 genes of chromosome 2L of Drosophila melanogaster, each with
          at least 5000 bases on either side, which may contain genes that are not annotated.
        - "a_thaliana" and "c_elegans": 1 % of the genomes of Arabidopsis thaliana and Caenorhabditis elegans.
        - the genomes of bacteria and archaea: "a_pernix", "b_subtilis", "c_crescentus", "e_coli" (K-12),
          "e_coli_iai39", "h_salinarum", "m_mazei", "m_tuberculosis", "n_pharaonis", "p_aeruginosa",
          "p_fluorescens", "p_furiosus", "s_acidocaldarius", "synechocystis". The start codons of older
          annotations are not reliable.

    Raises
    ------
    DataError
        There is no such data set.
    DatasetUnavailable
        A file is missing from the data folder (see STRUCTUNE_DATA), or has another content than expected.
    """
    if name not in _FILES:
        raise DataError(f"there is no data set {name!r}. Data sets: {', '.join(sorted(_FILES))}")
    begin, *ends = _FILES[name]
    annotation, *sequences = [find(f"genes/{begin}{end}.gz") for end in ends]
    if not sequences:
        return list(read_genbank(annotation))
    return list(annotated(_read_annotation(annotation), read_dna(sequences[0]), annotation.name))


def load_verified_genes(name: str) -> tuple[Transcript, ...]:
    """Load the genes of a genome whose starts were verified by experiment.

    Parameters
    ----------
    name : {"a_pernix", "e_coli", "h_salinarum", "m_tuberculosis", "n_pharaonis", "synechocystis"}
        Name of the genome; `load_genes` loads its sequences.

    Raises
    ------
    DataError, DatasetUnavailable
        As for `load_genes`.
    """
    if name not in _VERIFIED:
        raise DataError(f"there is no data set {name!r}. Data sets: {', '.join(sorted(_VERIFIED))}")
    path = find(f"genes/verified/{_VERIFIED[name]}.verified.gff.gz")
    (transcripts,) = _read_annotation(path).transcripts.values()
    return transcripts


def _read_annotation(path: Path) -> GeneAnnotation:
    """Genes of a GFF3 file with the names that their sequences have."""
    # what readers rightly refuse in these files is mended here, and nowhere else
    lines, skipped = dict[str, None](), list[Skipped]()  # some lines are there twice
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            # verified genes have names that are not as GFF3 has them
            text, is_verified, _ = line.rstrip("\n").partition(" start_codon=")
            lines[text.replace("gene_id=", "ID=") if is_verified else text] = None
    for line in list(lines):
        columns = line.split("\t")
        if len(columns) > 4 and int(columns[3]) > int(columns[4]):  # which GFF3 does not allow
            del lines[line]
            contig, _, _, start, end, _, strand, *_ = columns
            skipped.append(Skipped(contig, f"{contig}:{start}-{end}({strand})", "across the origin"))
    found = read_gff3(StringIO("\n".join(lines)))
    transcripts = {_CONTIGS.get(contig, contig): of for contig, of in found.transcripts.items()}
    return GeneAnnotation(
        {contig: tuple(replace(t, contig=contig) for t in of) for contig, of in transcripts.items()},
        tuple(
            one._replace(contig=_CONTIGS.get(one.contig, one.contig)) for one in (*found.skipped, *skipped)
        ),
        found.circular,
    )
