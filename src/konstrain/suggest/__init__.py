"""Pairs worth asking a person about, and how far the answers are trusted."""

from konstrain.suggest.answers import Contradiction, clusters_met, contradictions, soften
from konstrain.suggest.pairs import STRATEGIES, suggest_pairs

__all__ = ["STRATEGIES", "Contradiction", "clusters_met", "contradictions", "soften", "suggest_pairs"]
