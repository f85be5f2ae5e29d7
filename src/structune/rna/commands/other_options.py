"""Options that do not go together."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from structune.errors import DataError
from structune.rna.commands.options import Reading, Wanted, Writing


def refuse_others(option: str, allowed: set[str], reading: Reading, wanted: Wanted, writing: Writing) -> None:
    """Refuse all but the allowed ones: they would say nothing beside this option."""
    for options in (reading, wanted, writing):
        for field in fields(options):
            if field.name not in allowed and getattr(options, field.name) != field.default:
                other = field.name.replace("_", "-")
                raise DataError(f"found --{other} and {option}, expected one of them")
    if Path(writing.output).is_dir():
        raise DataError(f"{writing.output}: found a folder, expected a file with {option}")
