"""Policies, plans and reports of the gate; `evalkit.gate` decides."""
