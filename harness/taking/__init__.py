"""Take a person's data as a pack's snapshot, and their questions and predictions as its cases: nothing is lost unsaid.

`contract` says what a source is; `registry` lists the sources, each in a file of its own; `pack` writes what was taken.
"""
