"""Reading and writing the files that users have; each function names the file and line of what it refuses."""

from structune.formats.bpseq import read_bpseq, write_bpseq
from structune.formats.conll import ConllData, read_conll, write_conll
from structune.formats.contrafold import read_contrafold, write_contrafold
from structune.formats.ct import read_ct, write_ct
from structune.formats.dot_bracket import (
    drop_pseudoknots,
    largest_nested,
    partners,
    read_dot_bracket,
    to_dot_bracket,
    write_dot_bracket,
)
from structune.formats.fasta import read_fasta, write_fasta
from structune.formats.letor import LetorData, read_letor, write_letor
from structune.formats.prices import PriceTable, read_prices
from structune.formats.protein_alignments import (
    ProteinAlignment,
    read_protein_alignments,
    read_proteins,
    write_protein_alignments,
)
from structune.formats.rna_files import read_rna, write_rna
from structune.formats.rna_record import RNARecord
from structune.formats.stockholm import read_stockholm

__all__ = [
    "ConllData",
    "LetorData",
    "PriceTable",
    "ProteinAlignment",
    "RNARecord",
    "drop_pseudoknots",
    "largest_nested",
    "partners",
    "read_bpseq",
    "read_conll",
    "read_contrafold",
    "read_ct",
    "read_dot_bracket",
    "read_fasta",
    "read_letor",
    "read_prices",
    "read_protein_alignments",
    "read_proteins",
    "read_rna",
    "read_stockholm",
    "to_dot_bracket",
    "write_bpseq",
    "write_conll",
    "write_contrafold",
    "write_ct",
    "write_dot_bracket",
    "write_fasta",
    "write_letor",
    "write_protein_alignments",
    "write_rna",
]
