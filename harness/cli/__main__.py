"""`python -m harness.cli`: the same command as `sqlassay`."""

from harness.cli.main import main

main()
