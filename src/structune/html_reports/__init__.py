"""HTML reports on training and predictions, each a single file (``pip install structune[reports]``)."""

from structune.html_reports.page import Section, check_installed, write_page

__all__ = ["Section", "check_installed", "write_page"]
