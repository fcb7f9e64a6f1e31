"""The page to answer questions on: `konstrain studio` and `konstrain.studio`.

What a person did is a list of actions (`session.py`); everything shown follows from it. `hub.py` holds it together
and needs no browser, `page.py` is one open page, `server.py` lets only its owner in.
"""

from konstrain._studio.hub import Studio, studio

__all__ = ["Studio", "studio"]
