"""EvalBench's run config as one of our runs, and the results in the tables EvalBench writes."""
