"""Files of genes on their sequences, as the commands read them."""

import gzip

from structune.genes.formats.writers import genbank_text, write_gff3


def fasta(genome):
    return "".join(f">{each.name} x\n{each.sequence}\n" for each in genome)


def write(folder, name, genome):
    """The three kinds of input."""
    (folder / f"{name}.fa").write_text(fasta(genome))
    write_gff3(folder / f"{name}.gff3", (t for each in genome for t in each.transcripts))
    whole = (folder / f"{name}.gff3").read_text() + "##FASTA\n" + fasta(genome)
    (folder / f"{name}-whole.gff3.gz").write_bytes(gzip.compress(whole.encode()))
    (folder / f"{name}.gb").write_text("".join(map(genbank_text, genome)))
