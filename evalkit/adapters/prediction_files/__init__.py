"""Files of predictions: JSON lines, line-aligned text, SQuAD prediction JSON, CoNLL columns and tables.

`read_predictions` finds out which of them a file is, reads it and checks it against the examples of a task.
"""

from evalkit.adapters.prediction_files.reading import PredictionFile, read_predictions

__all__ = ["PredictionFile", "read_predictions"]
