"""What becomes of work around which things die, fill up or are taken away.

    python benchmarks/chaos.py             all parts
    python benchmarks/chaos.py cluster     these parts; others stay in the results as they are
    python benchmarks/chaos.py --quick     small, into a temporary folder

cluster     worker processes of a Dask cluster are killed during one fit, whenever one works, until a hundred
            have died: the weights have to have the bits of the undisturbed fit on such a cluster
load        fits beside a busy loop for each core: how many times as long they take, and how many times the
            processor time, of which threads that spin while they wait take more
kills       processes that fit models of all kinds are killed at random times, by SIGKILL, SIGTERM and SIGINT,
            and begun again until they end: nothing may be lost, and objectives have to agree
disks       disks that are full or read-only, damaged and cold caches, closed pipes: commands have to end with
            an exit code and a line that say so, or as ever, and what was written before has to be whole
"""

from __future__ import annotations

import json

from chaos_cluster import cluster
from chaos_disks import disks
from chaos_kills import kills
from chaos_load import load
from common import folder_for, parser_of, write

NAME = "chaos"
# functions of `quick`, which raise when something was lost
PARTS = {"cluster": cluster, "load": load, "kills": kills, "disks": disks}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    asked = parser.parse_args()
    if not PARTS.keys() >= set(asked.parts):
        parser.error(f"found {' '.join(asked.parts)}, expected some of {' '.join(PARTS)}")
    path = (folder_for(NAME, asked.quick) / NAME).with_suffix(".json")
    for part in asked.parts or PARTS:
        found = PARTS[part](asked.quick)
        print(part, json.dumps(found, indent=1), flush=True)
        known = json.loads(path.read_text()) if path.exists() else {}
        known.pop("machine", None)
        write(str(path.with_suffix("")), {**known, part: found}, "distributed")
    print("written to", path)


if __name__ == "__main__":
    main()
