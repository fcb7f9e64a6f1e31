"""Plots are drawn without a screen, and closed after each test."""

import matplotlib
import pytest
from matplotlib import pyplot as plt

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots()[1]
