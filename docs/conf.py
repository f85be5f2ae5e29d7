"""The documentation site: `make docs` builds it, and any warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import structune.learning

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT / "docs" / "_ext"), str(ROOT / "benchmarks")]

project = "structune"
author = copyright = "The structune developers"
version = release = structune.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "benchmark_table",
]
exclude_patterns = ["_build", "generated/gallery/*.ipynb", "generated/gallery/*.py"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"structune {release}"
html_theme_options = {"navigation_with_keys": True}

# in docstrings `name` is a link where there is such a name, else code; names of the package must exist
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", r"(?!structune\.).*")]

autosummary_generate = True
autodoc_typehints = "none"  # types are in the docstrings
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of classes lists them

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": str(ROOT / "examples"),  # folders with a README are sections: that of plugin is a Readme
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(^|/)demo\.py$",  # what `make demo` runs
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "reset_modules_order": "before",
}

linkcheck_timeout = 20
linkcheck_retries = 2


def _without_sklearn(_app: Any, _what: str, name: str, obj: Any, _skip: bool, _options: Any) -> Any:
    """Leave out methods that come from scikit-learn, whose documentation refers to its own pages."""
    is_request = name.startswith("set_") and name.endswith("_request")
    return True if is_request or str(getattr(obj, "__module__", "")).startswith("sklearn") else None


def _with_one_page(app: Any, env: Any, node: Any, content: Any) -> Any:
    """The page of a name that rooms share: it is below `structune`, or below `structune.learning`."""
    room, _, name = node["reftarget"].rpartition(".")
    for home in (structune, structune.learning):
        if node["refdomain"] == "py" and name in home.__all__ and room.partition(".")[0] in ("", "structune"):
            place = node["refdoc"], app.builder, "obj", f"{home.__name__}.{name}", node, content
            return env.domains["py"].resolve_xref(env, *place)
    return None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", _without_sklearn)
    app.connect("missing-reference", _with_one_page)
