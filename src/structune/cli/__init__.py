"""The command line: ``structune train | tune | predict | evaluate | fold | align | genes | ...``."""

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line."""
    _replace_closed_streams()
    code = 0
    try:
        run(sys.argv[1:])
    except SystemExit as end:
        if not isinstance(end.code, int) or not end.code:
            raise
        code = end.code
    if code:  # here the error is gone, and with it what it held, such as a folder that is not finished
        _end_at_once(code)


def _replace_closed_streams() -> None:
    """By the null device, as `print` takes them (``>&-``); the next file would take their place else."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _end_at_once(code: int) -> None:
    """Do not wait for what threads have begun, as Python does when it ends; files are closed by now."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def run(args: list[str]) -> None:
    """Run a command line; ends with `SystemExit`."""
    from structune.cli import app
    from structune.cli.checks import short_warnings

    with short_warnings():
        app.run(args)
