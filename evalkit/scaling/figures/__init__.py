"""Figures of fits, drawn with matplotlib (the optional extra `plots`)."""
