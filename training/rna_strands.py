"""What two strands cost before any pair: `INITIATION` of structune/rna/defaults.py.

    python training/rna_strands.py            seconds

Needs ``pip install ViennaRNA``. Random stems of 4 to 10 pairs, as hairpins and as two strands. By
nearest-neighbour energies (Turner 2004, 37 C, 1 M) and by the pretrained model's scores hairpins line up, at
a slope that tells how many units of a score make one of kT. The initiation is what makes scores of two
strands that many times their energies, on average.
"""

from __future__ import annotations

import numpy as np

from structune import RNAFolder

KT = 0.61632  # kcal/mol
OPPOSITE = {"A": "U", "U": "A", "G": "C", "C": "G"}


def main() -> None:
    import RNA

    folder, rng = RNAFolder.pretrained(), np.random.default_rng(0)
    rna = folder.rna_.like(max_span=None, circular=False, initiation=0.0)

    def score(sequence: str, structure: str) -> float:
        """Log odds against no pair."""
        free = "".join("&" if mark == "&" else "." for mark in structure)
        own, none = rna.score(folder.coef_, rna.encode([sequence] * 2, [structure, free]))
        return float(own - none)

    hairpins, duplexes = [], []
    for n in rng.integers(4, 11, 400):
        stem = "".join(rng.choice(list("ACGU"), n))
        back = "".join(OPPOSITE[base] for base in reversed(stem))
        loop = "".join(rng.choice(list("ACGU"), rng.integers(4, 9)))
        hairpin, closed = stem + loop + back, "(" * n + "." * len(loop) + ")" * n
        hairpins.append((-RNA.energy_of_struct(hairpin, closed) / KT, score(hairpin, closed)))
        joined = f"{stem}&{back}"
        energy = RNA.fold_compound(joined).eval_structure("(" * n + ")" * n)
        duplexes.append((-energy / KT, score(joined, "(" * n + "&" + ")" * n)))
    (x, y), (x2, y2) = np.array(hairpins).T, np.array(duplexes).T
    slope = np.polyfit(x, y, 1)[0]
    off = slope * x2 - y2
    print(f"slope {slope:.2f} (correlation {np.corrcoef(x, y)[0, 1]:.3f})")
    print(f"initiation {off.mean():.2f} +- {off.std():.2f}")


if __name__ == "__main__":
    main()
