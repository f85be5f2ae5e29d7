from .adaptation import adapt as adapt
from .data import (
    PROKARYOTES as PROKARYOTES,
)
from .data import (
    load_genes as load_genes,
)
from .data import (
    load_verified_genes as load_verified_genes,
)
from .eukaryotes.gene_finder import GeneFinder as GeneFinder
from .eukaryotes.structure.exon_graph import ExonGraph as ExonGraph
from .eukaryotes.structure.weights import Scaling as Scaling
from .examples import SkippedGenesWarning as SkippedGenesWarning
from .formats.dna import read_dna as read_dna
from .formats.genbank import read_genbank as read_genbank
from .formats.genomes import read_genomes as read_genomes
from .formats.genomes import read_sequences as read_sequences
from .formats.gff import GeneAnnotation as GeneAnnotation
from .formats.gff import read_annotation as read_annotation
from .formats.gff import read_gff3 as read_gff3
from .formats.gff import read_gtf as read_gtf
from .formats.hints import Hint as Hint
from .formats.hints import UnusedEvidenceWarning as UnusedEvidenceWarning
from .formats.hints import read_hints as read_hints
from .formats.hints import read_regions as read_regions
from .formats.record import (
    AnnotatedSequence as AnnotatedSequence,
)
from .formats.record import (
    CodingProblem as CodingProblem,
)
from .formats.record import (
    Skipped as Skipped,
)
from .formats.record import (
    Transcript as Transcript,
)
from .formats.record import (
    coding_problems as coding_problems,
)
from .formats.record import (
    overlapping_genes as overlapping_genes,
)
from .formats.record import (
    skipped_text as skipped_text,
)
from .formats.writers import (
    write_coding_sequences as write_coding_sequences,
)
from .formats.writers import write_genbank as write_genbank
from .formats.writers import (
    write_gff3 as write_gff3,
)
from .formats.writers import (
    write_proteins as write_proteins,
)
from .formats.writers import write_table as write_table
from .metrics import (
    GENE_LEVELS as GENE_LEVELS,
)
from .metrics import (
    GeneAccuracy as GeneAccuracy,
)
from .metrics import (
    GeneScores as GeneScores,
)
from .metrics import (
    gene_difference as gene_difference,
)
from .metrics import (
    gene_regions as gene_regions,
)
from .metrics import (
    gene_scores as gene_scores,
)
from .metrics import (
    stop_codons as stop_codons,
)
from .plots import plot_genes as plot_genes
from .prokaryotes.adaptation import LittleToLearnWarning as LittleToLearnWarning
from .prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder as MetagenomeFinder
from .prokaryotes.orf_finder import nearest_node as nearest_node
from .prokaryotes.orf_finder import suited_code as suited_code
from .prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder as ProkaryoticGeneFinder
from .prokaryotes.starts import StartModel as StartModel
from .prokaryotes.structure.candidates import OrfRules as OrfRules
from .prokaryotes.structure.orf_graph import OrfGraph as OrfGraph
