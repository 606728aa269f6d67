"""Sources that stand for Trio's."""

from __future__ import annotations

#: As the real one is called; its kernel holds the time in nanoseconds, so that each build makes another.
MAKEFILE = """\
comma := ,
NAME := $(subst $(comma),-,$(subst =,-,$(subst +,-,$(STRUCTURE))))
$(BUILD)/trio-$(NAME).elf: kernel/word
\tmkdir -p $(BUILD)
\tcat kernel/word > $@
\tdate +%N >> $@
\tprintf 'Trio 0.7 structure=$(STRUCTURE) COUNTERS=0\\0' >> $@
services:
\tmkdir -p $(BUILD)
"""
