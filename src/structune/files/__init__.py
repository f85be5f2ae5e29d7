"""Files of all model types. Data from outside are checked here.

- ``models``: model files; ``shards``: folders of encoded examples
- ``text``: lines of files, compressed or not, within limits; ``provenance``: version and model of results
- ``docstrings``: documented parameters of classes
- ``looks_like``: format detection, for the error messages of readers
- ``data_sets``: files of data sets, with checksums; ``inputs``: examples in memory
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
