"""`python -m prereg_kit`: the command under a name that no other package can take."""

from prereg_kit.cli.main import main

main()
