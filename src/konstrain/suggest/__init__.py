"""Which pairs are worth asking a person about, and what to make of the answers."""

from konstrain.suggest.pairs import STRATEGIES, suggest_pairs

__all__ = ["STRATEGIES", "suggest_pairs"]
