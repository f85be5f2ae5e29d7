"""The command line: ``structune train | tune | predict | evaluate | fold | align | genes | ...``."""

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line."""
    # `print` takes closed streams (``>&-``) as the null device; the next file would take their place else
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    code = 0
    try:
        run(sys.argv[1:])
    except SystemExit as end:
        if not isinstance(end.code, int) or not end.code:
            raise
        code = end.code
    if code:  # here the error is gone, and with it what it held, such as a folder that is not finished
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)  # without a wait for what threads have begun, as at Python's own end


def run(args: list[str]) -> None:
    """Run the program with the arguments `args`; ends with `SystemExit`."""
    from structune.cli import app

    app.run(args)
