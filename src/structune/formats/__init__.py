"""Reading and writing the files that users have; each function names the file and line of what it refuses."""

from structune.alignment.formats import (
    ProteinAlignment,
    read_protein_alignments,
    read_proteins,
    write_protein_alignments,
)
from structune.genes.formats.checks import CodingProblem, coding_problems, overlapping_genes
from structune.genes.formats.dna import read_dna
from structune.genes.formats.genbank import read_genbank
from structune.genes.formats.genomes import read_genomes
from structune.genes.formats.gff3 import GeneAnnotation, read_gff3
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, skipped_text
from structune.genes.formats.writers import write_coding_sequences, write_gff3, write_proteins
from structune.ranking.letor import LetorData, read_letor, write_letor
from structune.rna.formats.any import read_rna, write_rna
from structune.rna.formats.bpseq import read_bpseq, write_bpseq
from structune.rna.formats.contrafold import read_contrafold, write_contrafold
from structune.rna.formats.ct import read_ct, write_ct
from structune.rna.formats.dot_bracket import (
    drop_pseudoknots,
    largest_nested,
    partners,
    read_dot_bracket,
    to_dot_bracket,
    write_dot_bracket,
)
from structune.rna.formats.fasta import read_fasta, write_fasta
from structune.rna.formats.record import RNARecord
from structune.rna.formats.stockholm import read_stockholm
from structune.stocks.prices import PriceTable, read_prices
from structune.tagging.conll import ConllData, read_conll, read_conll_blocks, write_conll

__all__ = [
    "AnnotatedSequence",
    "CodingProblem",
    "ConllData",
    "GeneAnnotation",
    "LetorData",
    "PriceTable",
    "ProteinAlignment",
    "RNARecord",
    "Skipped",
    "Transcript",
    "coding_problems",
    "drop_pseudoknots",
    "largest_nested",
    "overlapping_genes",
    "partners",
    "read_bpseq",
    "read_conll",
    "read_conll_blocks",
    "read_contrafold",
    "read_ct",
    "read_dna",
    "read_dot_bracket",
    "read_fasta",
    "read_genbank",
    "read_genomes",
    "read_gff3",
    "read_letor",
    "read_prices",
    "read_protein_alignments",
    "read_proteins",
    "read_rna",
    "read_stockholm",
    "skipped_text",
    "to_dot_bracket",
    "write_bpseq",
    "write_coding_sequences",
    "write_conll",
    "write_contrafold",
    "write_ct",
    "write_dot_bracket",
    "write_fasta",
    "write_gff3",
    "write_letor",
    "write_protein_alignments",
    "write_proteins",
    "write_rna",
]
