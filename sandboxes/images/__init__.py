"""Base images: an engine without data, from the first source that answers."""
