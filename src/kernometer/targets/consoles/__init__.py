"""Systems that bring their own disk: how each is described, booted and talked to at its console."""
