"""A ladder of small models: train sizes and lengths, measure them, fit laws, and see if they foretell the largest."""
