from .classifier import Classifier as Classifier
from .data import UCI_SETS as UCI_SETS
from .data import FlatData as FlatData
from .data import load_uci as load_uci
from .regressor import Regressor as Regressor
from .structure.classes import Classes as Classes
from .structure.design import Design as Design
from .structure.linear import Linear as Linear
