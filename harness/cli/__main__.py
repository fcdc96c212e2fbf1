"""`python -m sqlassay.harness.cli`: the same command as `sqlassay`."""

from sqlassay.harness.cli.main import main

main()
