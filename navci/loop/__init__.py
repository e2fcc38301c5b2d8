"""The order of things: opening, iteration, closing (DESIGN §3)."""
