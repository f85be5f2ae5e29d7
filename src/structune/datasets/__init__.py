"""Data sets: loaders with verified checksums, and simulators."""

from structune.alignment.data import load_protein_alignments
from structune.files.data_sets import DatasetUnavailable
from structune.flat.data import UCI_SETS, FlatData, load_uci
from structune.genes.data import PROKARYOTES, load_genes, load_verified_genes
from structune.ranking.data import OhsumedData, load_ohsumed
from structune.rna.data import RNAData, load_rna
from structune.stocks.data import load_stocks
from structune.tagging.data.conll2000 import load_conll2000
from structune.tagging.data.hmm import hmm_attributes, hmm_groups, simulate_hmm

__all__ = [
    "PROKARYOTES",
    "UCI_SETS",
    "DatasetUnavailable",
    "FlatData",
    "OhsumedData",
    "RNAData",
    "hmm_attributes",
    "hmm_groups",
    "load_conll2000",
    "load_genes",
    "load_ohsumed",
    "load_protein_alignments",
    "load_rna",
    "load_stocks",
    "load_uci",
    "load_verified_genes",
    "simulate_hmm",
]
