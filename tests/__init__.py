"""The tests, and what they share (support/), whose asserts say as much as those of tests."""

import pytest

pytest.register_assert_rewrite("tests.support")
