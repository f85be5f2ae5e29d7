"""The option of all scripts here."""

from __future__ import annotations

import argparse


def asked_to_be_quick(description: str | None) -> bool:
    """Whether --quick was given, the only option of a script."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    return bool(parser.parse_args().quick)
