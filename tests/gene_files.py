"""Files of genes on their sequences, as the commands read them."""

import gzip

from structune.genes.formats.writers import write_gff3

GENBANK = """LOCUS       {name} {n} bp DNA linear PLN 01-JAN-2000
ACCESSION   {name}
VERSION     {name}
FEATURES             Location/Qualifiers
{features}ORIGIN
{rows}
//
"""


def fasta(genome):
    return "".join(f">{each.name} x\n{each.sequence}\n" for each in genome)


def genbank(each):
    features = []
    for t in each.transcripts:
        place = ",".join(f"{a + 1}..{b}" for a, b in t.exons)
        place = f"join({place})" if len(t.exons) > 1 else place
        place = f"complement({place})" if t.strand == "-" else place
        features.append(f'     CDS             {place}\n                     /gene="{t.gene}"\n')
    rows = [f"{k + 1:9} {each.sequence[k : k + 60].lower()}" for k in range(0, len(each.sequence), 60)]
    return GENBANK.format(
        name=each.name, n=len(each.sequence), features="".join(features), rows="\n".join(rows)
    )


def write(folder, name, genome):
    """The three kinds of input."""
    (folder / f"{name}.fa").write_text(fasta(genome))
    write_gff3(folder / f"{name}.gff3", (t for each in genome for t in each.transcripts))
    whole = (folder / f"{name}.gff3").read_text() + "##FASTA\n" + fasta(genome)
    (folder / f"{name}-whole.gff3.gz").write_bytes(gzip.compress(whole.encode()))
    (folder / f"{name}.gb").write_text("".join(map(genbank, genome)))
