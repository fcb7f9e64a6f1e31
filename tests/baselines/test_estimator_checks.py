"""scikit-learn's own checks on the methods of sizes and spectra, and on DILS."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from konstrain.baselines import BCLS, CKSC, DILS, BalancedKMeans, ConstrainedSpectral, MinSizeKMeans

WEIGHTS = "weights and repeated rows lead to other random draws, and sizes count rows, whatever they weigh"
EXPECTED_FAILURES = {
    name: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }
    for name in ("BalancedKMeans", "MinSizeKMeans")
}


@parametrize_with_checks(
    [
        BCLS(n_clusters=2, n_init=1, max_iter=100),
        BalancedKMeans(n_clusters=2),
        CKSC(n_clusters=2, n_init=2),
        ConstrainedSpectral(n_clusters=2),
        DILS(n_clusters=2, max_evaluations=3000, max_neighbors=1000),
        MinSizeKMeans(n_clusters=2),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
