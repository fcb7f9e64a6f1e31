"""The methods that papers compare with, under their published names; links may end broken, and are counted."""

__all__: list[str] = []
