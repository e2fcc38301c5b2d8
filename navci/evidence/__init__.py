"""Facts navci measures itself; each module measures one thing, and none of them judges."""
