"""What of a call scikit-learn passes on to an estimator, where its routing of metadata is on."""

from __future__ import annotations

from typing import Any, Self


class Routed:
    """Requests of metadata as scikit-learn's estimators have them; it is imported when they are made."""

    def set_fit_request(self, **requests: Any) -> Self:
        """Say which arguments of `fit`, such as ``groups``, meta-estimators are to pass on."""
        return self._request("fit", requests)

    def set_predict_request(self, **requests: Any) -> Self:
        """The same of `predict`."""
        return self._request("predict", requests)

    def set_score_request(self, **requests: Any) -> Self:
        """The same of `score`."""
        return self._request("score", requests)

    def get_metadata_routing(self) -> Any:
        """What is passed on, as scikit-learn asks for it."""
        return self._get_metadata_request()

    def _request(self, method: str, requests: dict[str, Any]) -> Self:
        from sklearn.utils._metadata_requests import RequestMethod

        known = sorted(self._get_class_level_metadata_request_values(method))
        return RequestMethod(method, known).__get__(self, type(self))(**requests)  # type: ignore[no-any-return]

    def _get_metadata_request(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_metadata_request(self)

    @classmethod
    def _get_class_level_metadata_request_values(cls, *method: Any, **options: Any) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_class_level_metadata_request_values.__func__(cls, *method, **options)
