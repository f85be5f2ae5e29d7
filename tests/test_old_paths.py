"""Public names of before there were rooms are found where they were, with a word on where they are."""

from importlib import import_module

import pytest

from structune._old_paths import _HOMES

NAMES = {  # as the API reference listed them
    "shard_files": "ShardFolder ShardWriter",
    "executors": "Executor ThreadExecutor make_executor",
    "dask_executor": "DaskExecutor",
    "checkpoints": "Checkpoint",
    "model_files": "load read_model save_model",
    "datasets": "DatasetUnavailable FlatData OhsumedData RNAData hmm_attributes hmm_groups load_conll2000 "
    "load_genes load_ohsumed load_protein_alignments load_rna load_stocks load_uci load_verified_genes "
    "simulate_hmm",
    "features": "AttributeTable Boundary Conjunction Lower Prefix Shape Suffix Token conll2000_templates "
    "extract parse_template parse_templates window",
    "formats": "AnnotatedSequence CodingProblem ConllData GeneAnnotation LetorData PriceTable "
    "ProteinAlignment RNARecord Skipped Transcript coding_problems drop_pseudoknots largest_nested "
    "overlapping_genes partners read_bpseq read_conll read_contrafold read_ct read_dna read_dot_bracket "
    "read_fasta read_genbank read_genomes read_gff3 read_letor read_prices read_protein_alignments "
    "read_proteins read_rna read_stockholm skipped_text to_dot_bracket write_bpseq write_coding_sequences "
    "write_conll write_contrafold write_ct write_dot_bracket write_fasta write_gff3 write_letor "
    "write_protein_alignments write_proteins write_rna",
    "metrics": "AlignmentScores BasePairScores Difference GeneAccuracy GeneScores PairAccuracy Score Scores "
    "SensitivityCurve alignment_scores base_pair_bootstrap base_pair_scores gene_difference gene_regions "
    "gene_scores ndcg paired_bootstrap paired_difference roc_area segment_counts segment_scheme "
    "segment_scores sensitivity_ppv_curve stop_codons token_scores",
    "plots": "plot_structure plot_pair_probabilities plot_sensitivity_ppv plot_match_probabilities "
    "plot_genes",
    "tuning": "DirectTuner GridTuner ImplicitTuner MajorizeTuner TuningProblem TuningResult make_tuner",
    "tuning.majorize": "CollapseWarning",
    "losses": "LogLoss Loss SquaredLoss",
    "margin_losses": "EquivalentMarginLoss MarginLoss PerceptronLoss RampLoss",
    "risk": "Risk",
    "penalties": "GroupedL2 IntegratedL2",
    "constraints": "FlipConstraint validation_constraints",
    "solvers.l2": "fit_l2",
    "solvers.solution": "Solution",
    "solvers.bundle": "minimize_bundle",
    "solvers.cccp": "minimize_cccp",
    "solvers.subgradient": "minimize_subgradient",
    "solvers.n_slack": "minimize_n_slack",
    "solvers.saddle_point": "SaddlePoint minimize_saddle_point",
    "structures.base": "Groups Shard Structure",
    "structures.classes": "Classes",
    "structures.linear": "Linear",
    "structures.chain": "Chain",
    "structures.rna": "RNA",
    "structures.rna_constraints": "Constraints",
    "structures.alignment": "Alignment",
    "structures.ranking": "Ranking",
    "structures.orf_graph": "OrfGraph",
    "estimators.base": "StructuredEstimator",
    "estimators.ranker": "ZeroWeightsWarning",
    "estimators.folder_space": "OutsideSpaceWarning",
    "estimators.gene_examples": "SkippedGenesWarning",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_found(module):
    old = import_module(f"structune.{module}")
    for name in NAMES[module].split():
        with pytest.warns(DeprecationWarning, match=rf"structune\.{module}\.{name} is structune\.") as told:
            found = getattr(old, name)
        assert told[0].filename == __file__
        place = str(told[0].message).split()[2].removesuffix(f".{name}")
        assert found is getattr(import_module(place), name)


def test_all_names_of_a_module():
    old = import_module("structune.losses")
    assert {"LogLoss", "Loss", "SquaredLoss"} <= set(dir(old)) == set(old.__all__)


def test_every_module_is_tested():
    assert set(_HOMES) - set(NAMES) == {"solvers", "structures", "estimators"}


@pytest.mark.parametrize("module", ["formats", "plots", "solvers.l2", "structures"])
def test_other_names_are_refused(module):
    with pytest.raises(AttributeError, match=rf"module 'structune\.{module}' has no attribute 'foo'"):
        import_module(f"structune.{module}").foo  # noqa: B018


def test_no_other_module_is_made_up():
    with pytest.raises(ModuleNotFoundError):
        import_module("structune.estimators.tagger")
