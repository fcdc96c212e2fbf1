"""Check a pack's own gold before it judges anybody: does it run, is it repeatable, do its rows follow from its text."""
