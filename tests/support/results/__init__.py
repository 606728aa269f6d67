"""What the tests of results share."""

from pathlib import Path

#: What other suites print, one file each.
OUTPUTS = Path(__file__).parent / "outputs"
