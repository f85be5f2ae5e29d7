"""Commands as a user gives them, and what comes back."""

from typer.testing import CliRunner

from structune.cli.app import app


def run(*args, stdin=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


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
