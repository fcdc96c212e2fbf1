"""The values every stage hands on: parsed facts, guard verdicts, comparisons, evidence, scores, results."""
