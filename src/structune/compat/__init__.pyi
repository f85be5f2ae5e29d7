from . import metrics as metrics
from . import pycrfsuite as pycrfsuite
from . import scorers as scorers
from . import utils as utils
from .crf import CRF as CRF
from .crf import CompatibilityWarning as CompatibilityWarning
from .tagger import Tagger as Tagger
from .weights import show_weights as show_weights
