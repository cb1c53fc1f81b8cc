"""One file a verb; each defines `command`."""
