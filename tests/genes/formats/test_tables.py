import csv
import io

from structune.genes import Transcript, write_table

GENES = [
    Transcript("c\t1", "+", ((4, 12), (20, 26)), "t1", "g1", 0.5, (True, True), (("start_type", "Edge"),)),
    Transcript("d", "-", ((0, 9),), "t2", "g2"),
]


def test_lines(tmp_path):
    write_table(tmp_path / "x.tsv", GENES)
    text = (tmp_path / "x.tsv").read_text()
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
    assert rows[0] == {
        "contig": "c\t1",
        "gene": "g1",
        "transcript": "t1",
        "start": "5",
        "end": "26",
        "strand": "+",
        "score": "0.5",
        "exons": "5-12,21-26",
        "partial": "before,behind",
        "notes": "start_type=Edge",
    }
    assert (rows[1]["start"], rows[1]["exons"], rows[1]["score"], rows[1]["partial"]) == ("1", "1-9", "", "")
