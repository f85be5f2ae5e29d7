"""Options that belong together are spread into the signatures of commands."""

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from structune.cli.settings import spread


@dataclass(frozen=True)
class Together:
    """Some options."""

    must: Annotated[int, typer.Option()]
    may: Annotated[str, typer.Option(help="What may be.")] = "x"
    many: Annotated[list[str], typer.Option()] = field(default_factory=list)


@spread
def command(first: Annotated[str, typer.Argument()], together: Together, *, last: bool = False) -> None:
    """A command."""
    typer.echo(f"{first} {together} {last}")


def test_the_signature_has_every_option():
    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["first", "must", "may", "many", "last"]
    assert parameters["must"].default is inspect.Parameter.empty
    assert parameters["may"].default == "x"
    assert parameters["many"].default == []
    assert command.__doc__ == "A command."


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["a", "--must", "1"], "a Together(must=1, may='x', many=[]) False"),
        (
            ["a", "--must", "2", "--may", "y", "--many", "p", "--many", "q", "--last"],
            "a Together(must=2, may='y', many=['p', 'q']) True",
        ),
    ],
)
def test_commands_get_them_together(given, told):
    app = typer.Typer()
    app.command()(command)
    assert CliRunner().invoke(app, given).stdout.strip() == told
    assert CliRunner().invoke(app, ["a"]).exit_code == 2
