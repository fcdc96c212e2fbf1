"""The red team: attacks against each layer alone and all together, judged by their effects."""
