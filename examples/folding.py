"""Folds some well-known RNAs with the model that comes with structune: run by `make demo`.

Their structures are known from experiments; the model learned from some thousand others, tRNAs and ribosomal
RNAs among them. Draws one to demo_output/.
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from structune import RNAFolder
from structune.rna import base_pair_scores, plot_pair_probabilities, plot_structure

OUTPUT = Path("demo_output")
KNOWN = {
    "yeast tRNA-Phe": (
        "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA",
        "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))....",
    ),
    "HIV-1 TAR": ("GGCAGAUCUGAGCCUGGGAGCUCUCUGCC", "((((((...((((......))))))))))"),
    "add riboswitch": (
        "CGCUUCAUAUAAUCCUAAUGAUAUGGUUUGGGAGUUUCUACCAAGAGCCUUAAACUCUUGAUUAUGAAGUG",
        "(((((((((...((((((.........))))))........((((((.......))))))..)))))))))",
    ),
}


def main() -> None:
    console = Console(highlight=False)
    OUTPUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    folder = RNAFolder.pretrained()
    sequences, known = zip(*KNOWN.values(), strict=True)
    predicted = folder.predict(sequences)
    for name, sequence, true, found in zip(KNOWN, sequences, known, predicted, strict=True):
        score = base_pair_scores([true], [found]).pooled
        console.print(f"[bold]{name}[/bold]: sensitivity {score.sensitivity:.2f}, PPV {score.ppv:.2f}")
        for line, label in ((sequence, ""), (true, "known"), (found, "predicted")):
            console.print(f"  {line}  {label}", soft_wrap=True)
    name, sequence = next(iter(KNOWN)), sequences[0]
    probabilities = folder.pair_probabilities(sequence)
    plot_structure(sequence, predicted[0], probabilities, name, OUTPUT / "trna_structure.png")
    plot_pair_probabilities(sequence, probabilities, known[0], name, OUTPUT / "trna_pairs.png")
    console.print(f"{time.perf_counter() - start:.0f} s, drawings in {OUTPUT.resolve()}")


if __name__ == "__main__":
    main()
