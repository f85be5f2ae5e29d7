"""What is read and written whatever the kind; everything from outside is checked here.

- ``models``: model files; ``shards``: folders of encoded examples
- ``text``: lines of files, compressed or not, within limits
- ``looks_like``: the format that a text seems to have, for readers that do not read it
- ``data_sets``: files of data sets, with checksums; ``inputs``: examples in memory
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
