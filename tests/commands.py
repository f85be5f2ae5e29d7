"""Commands as a user gives them, and what comes back."""

import io
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from structune.cli import run as run_command

PROGRAM = [sys.executable, "-c", "from structune.cli import main; main()"]  # in a process of its own


@dataclass
class Result:
    """How a command ended, and what it wrote."""

    exit_code: int
    stdout: str
    stderr: str
    exception: BaseException | None


def run(*args, stdin=None):
    text = stdin.encode() if isinstance(stdin, str) else stdin or b""
    source, out, err = (io.TextIOWrapper(io.BytesIO(each), "utf-8") for each in (text, b"", b""))
    code, exception = 0, None
    with ExitStack() as stack:
        stack.enter_context(patch.object(sys, "stdin", source))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            run_command([str(arg) for arg in args])
        except SystemExit as end:
            exception = end
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception as error:
            exception, code = error, 1
    for stream in (out, err):
        stream.flush()
    return Result(code, *(stream.buffer.getvalue().decode() for stream in (out, err)), exception)


def succeed(*args, stdin=None):
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, (result.stdout, result.stderr, result.exception)
    assert "\x1b" not in result.stdout
    return result.stdout


def fail(*args, stdin=None):
    """The one line that tells what is wrong."""
    result = run(*args, stdin=stdin)
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    assert result.stderr.startswith("structune: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr
