__version__: str

from .alignment.aligner import SequenceAligner as SequenceAligner
from .alignment.structure.proteins import Protein as Protein
from .files.models import load as load
from .files.shards import open_shards as open_shards
from .files.shards import write_shards as write_shards
from .flat.classifier import Classifier as Classifier
from .flat.regressor import Regressor as Regressor
from .genes.eukaryotes.gene_finder import GeneFinder as GeneFinder
from .genes.prokaryotes.adaptation import adapt as adapt
from .genes.prokaryotes.adaptation import nearest_node as nearest_node
from .genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder as ProkaryoticGeneFinder
from .ranking.ranker import Ranker as Ranker
from .rna.folder import RNAFolder as RNAFolder
from .tagging.tagger import SequenceTagger as SequenceTagger
from .trees.multitask import MultitaskEstimator as MultitaskEstimator
from .trees.task_tree import TaskTree as TaskTree
