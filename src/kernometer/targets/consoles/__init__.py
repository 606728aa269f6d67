"""Systems with their own disk: their descriptions, their boot, and the dialogue at their console."""
