"""The nouns of the house, on numpy alone: labels, splits, predictions, progress, counter-based draws."""
