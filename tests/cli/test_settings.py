"""Options that belong together are spread into the signatures of commands."""

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from structune.cli.options import Constraints, Method
from structune.cli.settings import HeldTo, Results, Running, Tuning, spread
from typer.testing import CliRunner

from structune.errors import DataError


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


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": Method.majorize, "folds": 3}, "--folds has no effect with --method majorize"),
        ({"method": Method.direct, "holdout": 0.2}, "--holdout has no effect with --method direct"),
        ({"method": Method.majorize, "seed": 0}, "--seed has no effect"),
        ({"holdout": 0.3, "folds": 3}, "--holdout cannot be combined with --folds"),
    ],
)
def test_options_of_what_is_held_out_have_an_effect_or_are_refused(options, told):
    with pytest.raises(DataError, match=told):
        Tuning(**options).parameters()


def test_the_seed_of_validation_sets_has_an_effect_without_a_held_out_part():
    held_to = HeldTo(Constraints.validation)
    assert Tuning(method=Method.majorize, seed=3).parameters(held_to)["random_state"] == 3


def test_resuming_without_a_checkpoint_is_told(tmp_path, capsys):
    Running(resume=True).parameters(Results(tmp_path / "m.structune"))
    assert "m.structune.checkpoint does not exist" in capsys.readouterr().err
