"""The kinds of check that a ladder document can name, each a reducer over events."""
