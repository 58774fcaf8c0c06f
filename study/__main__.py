"""`python -m study`."""

from prereg_kit.cli.study_command import main

main()
