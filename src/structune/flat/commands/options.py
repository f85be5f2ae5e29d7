"""Options of the commands of tables. Nothing heavy is imported here, so that ``--help`` comes at once."""

from pathlib import Path
from typing import Annotated

import typer

TrainFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRAIN",
        help="SVMlight files, also .gz: an example a line, such as '1 3:0.5 7:2', its class or output first. "
        "A feature that a line leaves out is 0; features count from 0 if one has that number, else from 1.",
    ),
]
