from .data import load_stocks as load_stocks
from .directions import DirectionSequence as DirectionSequence
from .directions import direction_sequence as direction_sequence
from .directions import smooth as smooth
from .prices import PriceTable as PriceTable
from .prices import read_prices as read_prices
