"""Grids of runs on existing engines: what a grid file says, its cells, where they run, and which are done already."""
