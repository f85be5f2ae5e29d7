"""Reading and writing the files that users have; each function names the file and line of what it refuses."""

from structune.formats.conll import ConllData, read_conll, write_conll
from structune.formats.contrafold import read_contrafold, write_contrafold

__all__ = ["ConllData", "read_conll", "read_contrafold", "write_conll", "write_contrafold"]
