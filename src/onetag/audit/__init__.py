"""The audit of data: what is broken, repeated, contradictory or leaking, and what a clean list of it would be. No torch."""
