from .conll import (
    ConllData as ConllData,
)
from .conll import SkippedLinesWarning as SkippedLinesWarning
from .conll import (
    read_conll as read_conll,
)
from .conll import (
    read_conll_blocks as read_conll_blocks,
)
from .conll import (
    write_conll as write_conll,
)
from .crfsuite import read_crfsuite as read_crfsuite
from .data.conll2000 import load_conll2000 as load_conll2000
from .data.hmm import hmm_attributes as hmm_attributes
from .data.hmm import hmm_groups as hmm_groups
from .data.hmm import simulate_hmm as simulate_hmm
from .features.attributes import AttributeTable as AttributeTable
from .features.templates import (
    Boundary as Boundary,
)
from .features.templates import (
    Conjunction as Conjunction,
)
from .features.templates import (
    Lower as Lower,
)
from .features.templates import (
    Prefix as Prefix,
)
from .features.templates import (
    Shape as Shape,
)
from .features.templates import (
    Suffix as Suffix,
)
from .features.templates import (
    Template as Template,
)
from .features.templates import (
    Token as Token,
)
from .features.templates import (
    conll2000_templates as conll2000_templates,
)
from .features.templates import (
    extract as extract,
)
from .features.templates import (
    parse_template as parse_template,
)
from .features.templates import (
    parse_templates as parse_templates,
)
from .features.templates import (
    symbol_templates as symbol_templates,
)
from .features.templates import (
    text_templates as text_templates,
)
from .features.templates import (
    window as window,
)
from .metrics import (
    Score as Score,
)
from .metrics import (
    Scores as Scores,
)
from .metrics import (
    paired_bootstrap as paired_bootstrap,
)
from .metrics import (
    segment_counts as segment_counts,
)
from .metrics import (
    segment_scheme as segment_scheme,
)
from .metrics import (
    segment_scores as segment_scores,
)
from .metrics import (
    token_scores as token_scores,
)
from .segment_tagger import SegmentTagger as SegmentTagger
from .structure.chain import Chain as Chain
from .structure.labels import ForbiddenLabelsWarning as ForbiddenLabelsWarning
from .structure.second_order import SecondOrderChain as SecondOrderChain
from .structure.semi_markov import SemiMarkovChain as SemiMarkovChain
from .tagger import SequenceTagger as SequenceTagger
