"""The solver of scaling laws: starts by variable projection, damped Newton in batches, certification."""
