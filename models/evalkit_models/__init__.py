"""The GPT, BERT and T5 of evalkit: PyTorch only, one family a file."""
