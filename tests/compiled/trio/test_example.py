"""Is the committed example of generated stubs what the interface compiler makes today?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trio import example

PAGE = Path(__file__).parents[3] / "trio/interfaces/example.md"


def differs(path: Path) -> str:
    """Empty, or what is to be done about it."""
    if path.read_text() == example.page():
        return ""
    return "the example is of an older compiler: tests/support/trio/example.py writes it anew"


def test_the_example_is_current() -> None:
    """Expected: the stubs on the page are those that are compiled. Broken: an older compiler's, or an interface has
    changed."""
    assert differs(PAGE) == ""


def test_an_example_that_is_not_current_is_found(tmp_path: Path) -> None:
    """Expected: one word of a stub differs; the command that writes the page anew mends it."""
    copy = tmp_path / "example.md"
    text = PAGE.read_text()
    assert "wait_for_answer" in text
    copy.write_text(text.replace("wait_for_answer", "wait_for_reply"))
    assert "example.py" in differs(copy)
    assert example.main([str(copy)]) == 0
    assert differs(copy) == ""


def test_a_place_that_is_not_generated_any_more_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expected: which, status 1, nothing written. Broken: a page with a hole."""
    monkeypatch.setattr(example, "_PARTS", (("A title", (("mono", "domain_kernel.c", "int64_t fs_gone", True),)),))
    with pytest.raises(example.MissingError, match="fs_gone"):
        example.page()
    assert example.main([str(tmp_path / "page.md")]) == 1
    assert not (tmp_path / "page.md").exists()
