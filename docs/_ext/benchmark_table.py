"""The directive `benchmark-table`: a table of benchmarks/tables.py, made from results at build time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import tables


class BenchmarkTable(SphinxDirective):
    """``{benchmark-table} rna-speed``: what the function of that name in benchmarks/tables.py returns."""

    required_arguments = 1

    def run(self) -> Sequence[nodes.Node]:
        for source in (Path(tables.__file__), *Path(tables.RESULTS).glob("*.json")):
            self.env.note_dependency(str(source))
        make = getattr(tables, self.arguments[0].replace("-", "_"), None)
        if make is None:
            raise self.error(f"benchmarks/tables.py has no table {self.arguments[0]!r}")
        found = nodes.container(classes=["table-wrapper"])
        found += self.parse_text_to_nodes(make())
        return [found]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("benchmark-table", BenchmarkTable)
    return {"parallel_read_safe": True}
