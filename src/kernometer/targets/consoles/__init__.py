"""Systems with a disk of their own: their descriptions, their boot, and the dialogue at their console."""
