"""The command `gradespine`: a module for each group of commands. Nothing here decides anything; gradebook does."""
