"""``python -m konstrain.experiments list|run|report``: the same as ``konstrain bench``."""

from konstrain.cli.bench import app

app(prog_name="python -m konstrain.experiments")
