"""`python -m konstrain`: the command line where its script is not on the path."""

from konstrain.cli import main

main()
