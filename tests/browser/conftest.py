"""The browser that these tests share."""

from __future__ import annotations

from tests.support.report.browser import browser

__all__ = ["browser"]
