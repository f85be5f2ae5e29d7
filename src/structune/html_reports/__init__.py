"""Reports on training and on predictions, each a page in one file (``pip install structune[reports]``)."""

from structune.html_reports.page import Section, check_installed, write_page

__all__ = ["Section", "check_installed", "write_page"]
