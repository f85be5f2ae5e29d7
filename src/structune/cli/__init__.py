"""The command line: ``structune train | tune | predict | fold | rank | align | genes | evaluate``."""

import os
import sys
from contextlib import suppress

INTERRUPTED = 130  # the exit code after Ctrl-C


def main() -> None:
    """Run the command line."""
    from structune.cli.app import app

    try:
        app(prog_name="structune")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _end_at_once()
        raise


def _end_at_once() -> None:
    """Python would wait for what threads have begun; all files are closed by now."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(INTERRUPTED)
