from .aligner import SequenceAligner as SequenceAligner
from .confidence import ConfidentAlignment as ConfidentAlignment
from .data import load_protein_alignments as load_protein_alignments
from .formats import (
    NamedProtein as NamedProtein,
)
from .formats import (
    ProteinAlignment as ProteinAlignment,
)
from .formats import (
    read_protein_alignments as read_protein_alignments,
)
from .formats import (
    read_proteins as read_proteins,
)
from .formats import (
    write_protein_alignments as write_protein_alignments,
)
from .metrics import AlignmentScores as AlignmentScores
from .metrics import ColumnScores as ColumnScores
from .metrics import alignment_scores as alignment_scores
from .metrics import column_scores as column_scores
from .multiple.alignment import MultipleAlignment as MultipleAlignment
from .multiple.plots import plot_guide_tree as plot_guide_tree
from .plots import plot_match_probabilities as plot_match_probabilities
from .structure.alignment import Alignment as Alignment
from .structure.proteins import Protein as Protein
