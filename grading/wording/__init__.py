"""A ladder document in plain words: what it asks, for someone who does not know the language."""
