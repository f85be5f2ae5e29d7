"""The code and the commands of the README run, on small data in place of the reader's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import run

README = (Path(__file__).parents[2] / "README.md").read_text()
_CODE = re.compile(r"^```python\n.*?^```$|^(?:    structune [^\n]*\n)+", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"  # .*")

# names and files that the code of a section takes for granted
TAKEN = {
    "RNA folding": """
from structune import RNAFolder
from structune.rna import RNARecord, write_ct, write_dot_bracket
stems = ["GGG", "GCC", "CGGA", "AGCC", "GCGC", "UCGG", "CCGA", "GGAC"]
pairs = str.maketrans("ACGU", "UGCA")
sequences = [stem + "GAAAA" + stem.translate(pairs)[::-1] for stem in stems]
structures = ["(" * len(stem) + "....." + ")" * len(stem) for stem in stems]
records = [RNARecord(f"r{k}", *each) for k, each in enumerate(zip(sequences, structures))]
write_dot_bracket("known.dbn", records)
write_ct("test.ct", records[:2])
open("sequences.fa", "w").write(">a\\nGGGAAAACCC\\n")
RNAFolder(penalty=1.0).fit(sequences, structures).to_contrafold("contrafold.params")
""",
    "Sequences": """
for name in ("train", "test", "new"):
    open(f"{name}.txt", "w").write("the DT B-NP\\ndog NN I-NP\\nruns VB B-VP\\n\\ndogs NN B-NP\\n\\n" * 5)
""",
    "Classification and regression": """
import numpy as np, pandas
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
frame = pandas.DataFrame(X, columns=["a__1", "a__2", "b__1", "b__2"])
""",
    "Margin and ramp losses": "",
    "Ranking": """
import numpy as np
from structune.ranking import LetorData, write_letor
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
relevance = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=60)), 0.0, 2.0)
queries = [str(k // 6) for k in range(60)]
for name in ("train", "test", "new"):
    write_letor(f"{name}.txt", LetorData(X, relevance, queries, np.arange(1, 4), [""] * 60))
""",
    "Protein alignments": """
import os
import numpy as np
rng = np.random.default_rng(0)
residues = list("ARNDCQEGHILKMFPSTWYV")
rows = ["".join(rng.choice(residues, 30)) for _ in range(6)]
alignments = [(row + "--", "--" + row[:20] + "".join(rng.choice(residues, 10))) for row in rows]
pairs = [(a.strip("-"), b.strip("-")) for a, b in alignments]
table = rng.random((10, 20))
for folder in ("families", "test"):
    os.mkdir(folder)
    for k, (a, b) in enumerate(alignments):
        open(f"{folder}/{k}.afa", "w").write(f">x\\n{a}\\n>y\\n{b}\\n")
for name in ("proteins", "two"):
    open(f"{name}.fa", "w").write(f">x\\n{pairs[0][0]}\\n>y\\n{pairs[0][1]}\\n")
""",
    "Genes": """
import gzip, shutil
import numpy as np
import simulated_genes
from gene_files import fasta, write
from pathlib import Path
genome = simulated_genes.genome(0, n_contigs=3, n_genes=1)
write(Path("."), "genes", genome)
write(Path("."), "test", genome[:1])
shutil.copy("genes.fa", "genome.fa")
shutil.copy("genes.fa", "contigs.fa")
Path("genome.fa.gz").write_bytes(gzip.compress(Path("genes.fa").read_bytes()))
for name in ("augustus", "known"):
    shutil.copy("genes.gff3", f"{name}.gff3")
conservation = [np.random.default_rng(0).random((len(each.sequence), 1)) for each in genome]
""",
    "Genes of bacteria and archaea": """
import gzip
import simulated_orfs
from gene_files import fasta, genbank
from pathlib import Path
from structune import ProkaryoticGeneFinder
contigs = simulated_orfs.genome(0, n_contigs=2, n_genes=40)
Path("contigs.fa").write_text(fasta(contigs))
Path("genome.gbff.gz").write_bytes(gzip.compress("".join(map(genbank, contigs)).encode()))
""",
    "Related tasks": """
import simulated_orfs
from gene_files import fasta, write
from pathlib import Path
names = ["E. coli", "P. aeruginosa", "B. subtilis"]
data = {name: simulated_orfs.genome(k, n_contigs=3) for k, name in enumerate(names)}
for name, genome in data.items():
    write(Path("."), name.replace(" ", ""), genome)
data = {name: (genome, [each.transcripts for each in genome]) for name, genome in data.items()}
contigs = new = data["E. coli"][0]
Path("new.fa").write_text(fasta(new))
Path("tree.nwk").write_text("((E.coli,P.aeruginosa)proteobacteria,B.subtilis)bacteria;")
""",
}


def page(section: str) -> str:
    """The code of a section as a page of the documentation."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    parts = [f"```python\n{TAKEN[section]}```\n"]
    for code in _CODE.findall(text):
        lines = [f"$ {_COMMENT.sub('', line.strip())}\n" for line in code.splitlines()]
        parts.append(f"{code}\n" if code.startswith("`") else f"```console\n{''.join(lines)}```\n")
    return "\n".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("section", TAKEN)
def test_section(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert run(page(section)) == []


def test_all_code_is_run():
    n_run = sum(page(section).count("\n```\n") - 1 for section in TAKEN)
    assert n_run == len(_CODE.findall(README)) > 15
