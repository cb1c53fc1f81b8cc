"""The verbs of `evalkit scaling`."""
