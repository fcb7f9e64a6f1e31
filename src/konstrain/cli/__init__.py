"""The command line: parse, call the library, print. One file per verb; heavy imports wait until a verb runs."""

import io
import sys

from konstrain.cli import clock

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line, whatever it was doing."""
    clock.start()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a name shows its code instead of losing the whole report.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        from konstrain.cli.startup import start_quickly

        start_quickly()
        from konstrain.cli.app import app

        app()
    except KeyboardInterrupt:
        words = "nothing was written"  # no verb had begun
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        from konstrain.cli.running import interrupts

        words = interrupts.words()
    print(f"konstrain: interrupted; {words}", file=sys.stderr)
    sys.exit(INTERRUPTED)
