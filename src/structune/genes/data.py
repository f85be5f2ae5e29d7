"""Genomes, and parts of them, with the genes that are known."""

from __future__ import annotations

import gzip
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from structune.errors import DataError
from structune.files.data_sets import DataFile, find
from structune.files.text import Lines
from structune.genes.formats.dna import read_dna
from structune.genes.formats.genbank import read_genbank
from structune.genes.formats.genomes import annotated
from structune.genes.formats.gff3 import parse_gff3
from structune.genes.formats.parts import GeneAnnotation
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript

_FILES = {
    "fly_train": [
        DataFile(
            "genes/eukaryotes/examples_chr2L_genes.gb.train.gz",
            "41db7f15a10720ff7ab0405dcd3d611dc532f4ffcf70533abdab057522ce81c1",
        )
    ],
    "fly_test": [
        DataFile(
            "genes/eukaryotes/examples_chr2L_genes.gb.test.gz",
            "e83af2753019d89e970c0d9d8ea7973563ecd2ade165a907b02649d05c69160e",
        )
    ],
    "a_thaliana": [
        DataFile(
            "genes/eukaryotes/at.gff3.gz", "033fea217c920932da8c919389cb999fcc45d487ef14059a387d310766607de5"
        ),
        DataFile(
            "genes/eukaryotes/at.fa.gz", "9b61633a17ffcad9ac217bbc5efe39aa586580f7b8379f3b3538b2288b6c4513"
        ),
    ],
    "c_elegans": [
        DataFile(
            "genes/eukaryotes/ce.gff3.gz", "ecb8146bdd6dd2b5c58013b5c868fb0bc82364afabe26fca8d62148c7ac79cc4"
        ),
        DataFile(
            "genes/eukaryotes/ce.fa.gz", "fd4c5f78ef5865b4e94303fd285b2822d65042168fea6f35a13b2d138f37dbcd"
        ),
    ],
    "a_pernix": [
        DataFile(
            "genes/bacteria/mgm2_Aeropyrum_pernix_K1.gff.gz",
            "736bf653bb619a775db64b63d2d4e89a11242f658b34caa4b52d603ae1b6e84e",
        ),
        DataFile(
            "genes/bacteria/mgm2_Aeropyrum_pernix_K1.fasta.gz",
            "3a557e51ef9adaf2b472984675f46b384f9688181b2d15c5e5831f40286232cc",
        ),
    ],
    "b_subtilis": [
        DataFile(
            "genes/bacteria/Bacillus_subtilis_best7003.ASM52304v1.46.gff3.gz",
            "046a3c8ee8b20fd35ebf29fce32eb71300a4777936710f45319ac90079758440",
        ),
        DataFile(
            "genes/bacteria/Bacillus_subtilis_best7003.ASM52304v1.dna.toplevel.fa.gz",
            "f01754afbf4116f961ffd079f959ab2335787aba091f8bc26fa38a72c8dc132d",
        ),
    ],
    "c_crescentus": [
        DataFile(
            "genes/bacteria/Caulobacter_crescentus_cb15.ASM690v1.46.gff3.gz",
            "6c032b3aba1a0a9d12df3c3cad35733383f92babfb56db5df8566041c0042e01",
        ),
        DataFile(
            "genes/bacteria/Caulobacter_crescentus_cb15.ASM690v1.dna.toplevel.fa.gz",
            "f0c00901e75b679509b9700bf976baeb41b63d4e4bf6aa5b195fae3f3e8aaaa2",
        ),
    ],
    "e_coli": [
        DataFile(
            "genes/bacteria/GCF_000005845.2_ASM584v2_genomic.gbff.gz",
            "b5c36bf3315b3cbe0612def6317b6bb56575c8507d3a673f0cf64b870af70dd0",
        )
    ],
    "e_coli_iai39": [
        DataFile(
            "genes/bacteria/ecoli_NC_011750.gbk.gz",
            "2d22b21f99cf22a8c60d41cb302b52e8cd933cc6d52e7ff9d391f8d8d8e61cd4",
        )
    ],
    "h_salinarum": [
        DataFile(
            "genes/bacteria/mgm2_Halobacterium_salinarum_R1.gff.gz",
            "46ece82df9c2233d9ef3132c80e48b84bdb594d16d158fcda6aec284a4117be9",
        ),
        DataFile(
            "genes/bacteria/mgm2_Halobacterium_salinarum_R1.fasta.gz",
            "9aae3ed3f4de9990da0749b57de13e91ea4a7355f0de1cb8bc89d8141b60b953",
        ),
    ],
    "m_mazei": [
        DataFile(
            "genes/bacteria/GCF_000970165.1_genomic.gbff.gz",
            "cc105a5c917ef327d18387c1068d081f0b07e4bb10a581171fa1c83d74f00942",
        )
    ],
    "m_tuberculosis": [
        DataFile(
            "genes/bacteria/mgm2_Mycobacterium_tuberculosis_H37Rv.gff.gz",
            "9920c4e2f1868fd56bb95bf5e6e0855645e67d4a85ed5e15580ac16b6231b9f9",
        ),
        DataFile(
            "genes/bacteria/mgm2_Mycobacterium_tuberculosis_H37Rv.fasta.gz",
            "45df45f26d4c5ca2d33da95a1fcdfdc093d3a1ca47e7d35f1960c7527b21e442",
        ),
    ],
    "n_pharaonis": [
        DataFile(
            "genes/bacteria/mgm2_Natronomonas_pharaonis_DSM_2160.gff.gz",
            "651d8c4bbd6ce6b1fb52685d23b6f5a68bd156039b0a0a77707ac47d5ff1c84f",
        ),
        DataFile(
            "genes/bacteria/mgm2_Natronomonas_pharaonis_DSM_2160.fasta.gz",
            "9221a7064ea1962349fc7a56abdbbf9271763153f520bb7609c772b2c77612dd",
        ),
    ],
    "p_aeruginosa": [
        DataFile(
            "genes/bacteria/pao1_NC_002516.gff.gz",
            "5707e3e81f5f34365c9f4bad91818803dfdb5ad2153a735339251bd84bac8c57",
        ),
        DataFile(
            "genes/bacteria/pao1_NC_002516.fasta.gz",
            "f68ebe5ee3603982b1505a5f303e1a9972ad14c0edbcf3e4f210d4011d74b5ef",
        ),
    ],
    "p_fluorescens": [
        DataFile(
            "genes/bacteria/Pseudomonas_fluorescens.ASM73042v1.46.gff3.gz",
            "dcdce6d674c1421a26fe2a4c485e9fb1b9bbcaa70ab9970896a392dd847114c1",
        ),
        DataFile(
            "genes/bacteria/Pseudomonas_fluorescens.ASM73042v1.dna.toplevel.fa.gz",
            "c3a09b81181e5b062261d767c8b94030f6eb0cf293a750a6d347bf4679dd6d8a",
        ),
    ],
    "p_furiosus": [
        DataFile(
            "genes/bacteria/pfu_CP023154.gff.gz",
            "b99fa11bb7581cc5eea69fa10c76202cf9cec5e5829799beafc5492884ce15eb",
        ),
        DataFile(
            "genes/bacteria/pfu_CP023154.fna.gz",
            "001c9b6e0d2584ec287fa29f43a47d4aa791e4fb6d877eed850e5a14cc879017",
        ),
    ],
    "s_acidocaldarius": [
        DataFile(
            "genes/bacteria/saci_NC_007181.1.gff.gz",
            "4f2630d2cc9e176112774ea36e51dc685456b0288f1979e8206814f4cbd6b584",
        ),
        DataFile(
            "genes/bacteria/saci_NC_007181.1.fasta.gz",
            "3d21ee64744fde7bf476556ac45e2495975b72a24b4e7d8eb59e612cbf930adc",
        ),
    ],
    "synechocystis": [
        DataFile(
            "genes/bacteria/mgm2_Synechocystis_PCC_6803.gff.gz",
            "e85b7fe582d886a3c9d6de3f98637a43d0c58ef0d34453a1a57eb504785535ed",
        ),
        DataFile(
            "genes/bacteria/mgm2_Synechocystis_PCC_6803.fasta.gz",
            "dd87a26949cc50236efdd5cd191d5d7b15b7c7e7d06326c7820106779c7d68b1",
        ),
    ],
}
PROKARYOTES: dict[str, Any] = {
    "life": {
        "bacteria": {
            "proteobacteria": {
                "gammaproteobacteria": {
                    "e_coli": None,
                    "pseudomonas": ["p_aeruginosa", "p_fluorescens"],
                },
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
    "a_pernix": DataFile(
        "genes/verified/Aeropyrum_pernix_K1_uid57757.verified.gff.gz",
        "476196a4aea7034792303cb40f1cdb6900c9aa7f9e589573450ee14c8b6e9373",
    ),
    "e_coli": DataFile(
        "genes/verified/Escherichia_coli_K_12_substr__MG1655_uid57779.verified.gff.gz",
        "d293b68cef0ce3237faa1e82c1187036c444ae1e64cd3eba9c599be9c9c986b7",
    ),
    "h_salinarum": DataFile(
        "genes/verified/Halobacterium_salinarum_R1_uid61571.verified.gff.gz",
        "b7848c73727888502fe491c6dcc514295d9a81e7b9491bafad30e1ed781628b7",
    ),
    "m_tuberculosis": DataFile(
        "genes/verified/Mycobacterium_tuberculosis_H37Rv_uid57777.verified.gff.gz",
        "7bdc83373472e7ec753e1befbc04a72481498b68c74b7cba139630353d90f35f",
    ),
    "n_pharaonis": DataFile(
        "genes/verified/Natronomonas_pharaonis_DSM_2160_uid58435.verified.gff.gz",
        "50ef86b9d140e81c3628faa58477f31664a48e88781fa8afa35a8a22bf5e1e04",
    ),
    "synechocystis": DataFile(
        "genes/verified/Synechocystis_PCC_6803_uid57659.verified.gff.gz",
        "4142ea2ead4af5a1aa3e0db6cfe077577b7404800a6851fc2f582f5f35e2f888",
    ),
}
_CONTIGS = {  # names of annotations, and those of the sequences that they are of
    "chromosome": "NC_002516.2",
    "NC_000913": "NC_000913.3",
    "NC_000962": "NC_000962.3",
    **{f"{name}.1": name for name in ("NC_007426", "NC_007427", "NC_007428")},
    **{f"{name}.1": name for name in ("NC_010366", "NC_010367", "NC_010368", "NC_010369")},
}


def load_genes(name: str) -> list[AnnotatedSequence]:
    """Sequences of DNA with their genes.

    The files may not be downloaded: they must lie in the data folder.

    Parameters
    ----------
    name : str
        - "fly_train" and "fly_test": 392 and 100 genes of chromosome 2L of Drosophila melanogaster, each in a
          window with 5000 bases and more on either side, where there may be genes that are not annotated.
        - "a_thaliana" and "c_elegans": 1 % of the genomes of Arabidopsis thaliana and Caenorhabditis elegans.
        - the genomes of bacteria and archaea: "a_pernix", "b_subtilis", "c_crescentus", "e_coli" (K-12),
          "e_coli_iai39", "h_salinarum", "m_mazei", "m_tuberculosis", "n_pharaonis", "p_aeruginosa",
          "p_fluorescens", "p_furiosus", "s_acidocaldarius", "synechocystis". The start codons of older
          annotations are not reliable.

    Returns
    -------
    list of AnnotatedSequence

    Raises
    ------
    DataError
        There is no such set.
    DatasetUnavailable
        A file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.
    """
    if name not in _FILES:
        raise DataError(f"found the data set {name!r}, expected one of {sorted(_FILES)}")
    annotation, *sequences = map(find, _FILES[name])
    if not sequences:
        return list(read_genbank(annotation))
    return list(annotated(_read_annotation(annotation), read_dna(sequences[0]), annotation.name))


def load_verified_genes(name: str) -> tuple[Transcript, ...]:
    """Genes of a genome whose starts were verified by experiment, a part of all.

    Parameters
    ----------
    name : {"a_pernix", "e_coli", "h_salinarum", "m_tuberculosis", "n_pharaonis", "synechocystis"}
        The sequences are those that `load_genes` gives for the name.

    Raises
    ------
    DataError
        There is no such set.
    DatasetUnavailable
        A file is not in the data folder (see STRUCTUNE_DATA), or is another one than expected.
    """
    if name not in _VERIFIED:
        raise DataError(f"found the data set {name!r}, expected one of {sorted(_VERIFIED)}")
    (transcripts,) = _read_annotation(find(_VERIFIED[name])).transcripts.values()
    return transcripts


def _read_annotation(path: Path) -> GeneAnnotation:
    """Genes of a GFF3 file with the names that their sequences have."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = list(dict.fromkeys(map(_repaired, file)))  # some are there twice
    across = [line for line in lines if _is_across_origin(line)]
    text = "\n".join(line for line in lines if not _is_across_origin(line))
    found = parse_gff3(Lines(StringIO(text)))
    skipped = [*found.skipped, *map(_skipped, across)]
    transcripts = {_CONTIGS.get(contig, contig): of for contig, of in found.transcripts.items()}
    return GeneAnnotation(
        {contig: tuple(replace(t, contig=contig) for t in of) for contig, of in transcripts.items()},
        tuple(one._replace(contig=_CONTIGS.get(one.contig, one.contig)) for one in skipped),
        found.circular,
    )


def _repaired(line: str) -> str:
    """A line with the name of a verified gene as GFF3 has it."""
    text, is_verified, _ = line.rstrip("\n").partition(" start_codon=")
    return text.replace("gene_id=", "ID=") if is_verified else text


def _is_across_origin(line: str) -> bool:
    """Whether the start of a feature is beyond its end, as GFF3 does not allow."""
    columns = line.split("\t")
    return len(columns) > 4 and int(columns[3]) > int(columns[4])


def _skipped(line: str) -> Skipped:
    contig, _, _, start, end, _, strand, *_ = line.split("\t")
    return Skipped(contig, f"{contig}:{start}-{end}({strand})", "across the origin")
