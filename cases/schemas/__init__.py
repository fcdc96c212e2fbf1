"""JSON Schemas of every input file, generated from the models that read them."""
