"""The command line: ``structune train | tune | predict | fold | rank | evaluate``."""


def main() -> None:
    """Run the command line."""
    from structune.cli.app import app

    app(prog_name="structune")
