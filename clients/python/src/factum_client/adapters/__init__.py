"""One page per agent framework: how a `Tool` is called there. None of them raises for pending and unknown outcomes."""
