"""What is asked of which data: cases, predictions, policies, relations, snapshots, formats and packs."""
