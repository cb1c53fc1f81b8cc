"""evalkit: evaluation and benchmarking of GPT, BERT and T5 models in English and Chinese."""

__version__ = "0.1.0"

__all__ = ["__version__"]
