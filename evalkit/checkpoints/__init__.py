"""Checkpoint folders: what is in them and how their tensors are named."""
