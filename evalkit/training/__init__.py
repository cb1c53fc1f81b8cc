"""From a recipe and data to a checkpoint: objectives, the loop, and what makes a stop harmless."""
