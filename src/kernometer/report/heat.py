"""The heat map: operation by system, the colour by the logarithm of the ratio, the figure in every cell.

A Vega-Lite specification, drawn by vl-convert as in forest.py, for each family of rows: a printed page breaks between
families, and the heads are never far from the eye. In two layouts: wide, and narrow (names above their cells, as many
drawings as it takes). Colours are the page's CSS variables, so that one SVG serves light and dark; they come in steps,
each with an ink that can be read on it, and only repeat what sign and figure say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernometer.report.forest import Layout
from kernometer.report.heads import lines
from kernometer.report.matrix_view import ABSENT, MatrixRow
from kernometer.stats.model import Verdict

#: Ratios at which the next darker step of the colour begins; the same downwards.
STEPS = (1.05, 1.1, 1.25, 1.5, 2.0)
#: Characters of a row's name that are drawn.
NAME_LIMIT = 60
HEAD_LINES = 4
#: Between two lines of a head.
LINE = 15
FONT = 12
#: A character's width at that size, on the generous side: the reader's sans-serif is not known here.
CHARACTER = 7


@dataclass(frozen=True, slots=True)
class Geometry:
    """Of a layout, in CSS pixels."""

    left: int  #: room for names left of the cells
    figure: int  #: room for the baseline's figures
    cell: int  #: width of a cell
    step: int  #: height of a row
    down: int  #: from the top of a row to its cells
    right: int = 12

    @property
    def head(self) -> int:
        """Characters of a head's line."""
        return max(1, (self.cell - 4) // CHARACTER)


#: Of the page's width in either layout, without margins.
_WIDE, _NARROW = 1060, 344
_LEFT, _FIGURE = 340, 100
_CELL, _MOST_CELL = 50, 90


def geometry(layout: Layout, systems: int) -> Geometry:
    """Cells share what room there is; where that is too little, they get their least and the drawing is wider."""
    if layout == "narrow":
        return Geometry(left=6, figure=0, cell=(_NARROW - 12) // columns(layout, systems), step=40, down=18, right=6)
    cell = max(_CELL, min(_MOST_CELL, (_WIDE - _LEFT - _FIGURE) // max(1, systems)))
    return Geometry(left=_LEFT, figure=_FIGURE, cell=cell, step=24, down=0)


def columns(layout: Layout, systems: int) -> int:
    """Systems in one drawing: all, or as many as a narrow one can hold, evenly spread over the drawings."""
    if layout == "wide":
        return systems
    most = (_NARROW - 12) // _CELL
    return math.ceil(systems / math.ceil(systems / most)) if systems else 1


def step(ratio: float) -> str:
    """The colour's name: s1 to s6 for slower, f1 to f6 for faster."""
    away = max(ratio, 1 / ratio)
    return f"{'s' if ratio > 1 else 'f'}{1 + sum(away >= edge for edge in STEPS)}"


def size(layout: Layout, rows: int, heads: Sequence[str], systems: int) -> tuple[int, int]:
    """Width and height of a drawing of `heads`, where the matrix has so many systems.

    The last of several drawings is as wide as the others, so that a narrow screen does not enlarge it.
    """
    of = geometry(layout, systems)
    width = of.left + of.figure + of.cell * columns(layout, systems) + of.right
    return width, _top(of, heads) + of.step * rows + 8


def _top(of: Geometry, heads: Sequence[str]) -> int:
    return 12 + LINE * max((len(lines(head, of.head, HEAD_LINES)) for head in heads), default=1)


def spec(
    rows: Sequence[MatrixRow],
    heads: Sequence[str],
    which: slice,
    layout: Layout,
    systems: int,
    baseline: str,
) -> dict[str, Any]:
    """The specification of one family: `rows` from top to bottom, the systems `which` of each row's cells."""
    of = geometry(layout, systems)
    shown = heads[which]
    cells = [
        {"row": y, "column": x, **_look(cell.kind, cell.ratio), "sign": cell.sign}
        for y, row in enumerate(rows)
        for x, cell in enumerate(row.cells[which])
        if cell.kind != ABSENT
    ]
    names = [
        {
            "row": y,
            "name": row.row if len(row.row) <= NAME_LIMIT else row.row[: NAME_LIMIT - 1] + "…",
            "figure": row.figure,
        }
        for y, row in enumerate(rows)
    ]
    x = _band("column", len(shown))
    y = _band("row", len(rows))
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "autosize": {"type": "none"},
        "padding": {
            "left": of.left + of.figure,
            "top": _top(of, shown),
            "right": of.right + of.cell * (columns(layout, systems) - len(shown)),
            "bottom": 8,
        },
        "width": of.cell * len(shown),
        "height": of.step * len(rows),
        "background": None,
        "config": {"aria": False, "font": "sans-serif", "view": {"stroke": None}},
        "data": {"values": cells},
        "layer": [
            *_heads(shown, of, baseline, x),
            _rectangles(of, x, y),
            _text(
                "sign", {"x": x, "y": y}, {"align": "center", "dy": of.down / 2}, colour={"field": "ink", "scale": None}
            ),
            *_names(names, of, layout, y),
        ],
    }


def _look(kind: str, ratio: float | None) -> dict[str, str]:
    """Colours of ground, frame and text."""
    if kind in (Verdict.SLOWER.value, Verdict.FASTER.value) and ratio is not None and 0 < ratio < math.inf:
        name = step(ratio)
        return {"ground": f"var(--heat-{name})", "frame": f"var(--heat-{name})", "ink": f"var(--on-{name})"}
    if kind == Verdict.UNDECIDED.value:
        return {"ground": "var(--heat-undecided)", "frame": "var(--heat-undecided)", "ink": "var(--on-undecided)"}
    if kind == Verdict.FAILED.value:
        return {"ground": "url(#hatch)", "frame": "var(--failed)", "ink": "var(--failed)"}
    return {"ground": "var(--paper)", "frame": "var(--line)", "ink": "var(--muted)"}


def _band(field: str, count: int) -> dict[str, Any]:
    scale = {"type": "band", "paddingInner": 0.06, "paddingOuter": 0.03, "domain": list(range(count))}
    return {"field": field, "type": "ordinal", "axis": None, "scale": scale}


def _rectangles(of: Geometry, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    mark: dict[str, Any] = {"type": "rect", "strokeWidth": 1}
    if of.down:  # below the row's name, which stands in the upper part of the row's band
        mark |= {"height": of.step - of.down - 2, "yOffset": of.down / 2}
    colours = {
        "fill": {"field": "ground", "type": "nominal", "scale": None},
        "stroke": {"field": "frame", "type": "nominal", "scale": None},
    }
    return {"mark": mark, "encoding": {"x": x, "y": y, **colours}}


def _heads(shown: Sequence[str], of: Geometry, baseline: str, x: dict[str, Any]) -> list[dict[str, Any]]:
    """Their last lines stand on one level: shorter heads begin with empty lines, since Vega sets text from its top."""
    high = (_top(of, shown) - 12) // LINE
    mark = {"align": "center", "baseline": "top", "lineBreak": "\n", "lineHeight": LINE, "fontWeight": "bold"}
    y = {"value": -high * LINE - 2}

    def head(name: str, width: int) -> str:
        parts = lines(name, width, high)
        return "\n".join(["\u00a0"] * (high - len(parts)) + parts)

    data = [{"column": n, "head": head(name, of.head)} for n, name in enumerate(shown)]
    layers = [_text("head", {"x": x, "y": y}, mark, data=data)]
    if of.figure:
        figure = head(baseline, (of.figure - 10) // CHARACTER)
        layers.append(_text("head", {"x": {"value": -10}, "y": y}, {**mark, "align": "right"}, data=[{"head": figure}]))
    return layers


def _names(names: list[dict[str, Any]], of: Geometry, layout: Layout, y: dict[str, Any]) -> list[dict[str, Any]]:
    """The row's name, and the baseline's figure."""
    if layout == "narrow":
        up = {"dy": -of.step / 2 + 9, "baseline": "middle"}
        width = of.cell * 100
        return [_text("name", {"x": {"value": 0}, "y": y}, {**up, "align": "left", "limit": width}, data=names)]
    name = {"align": "left", "baseline": "middle", "limit": of.left * 6 // 7}  # the reader's font may be wider
    figure = {"align": "right", "baseline": "middle"}
    return [
        _text("name", {"x": {"value": 4 - of.left - of.figure}, "y": y}, name, data=names),
        _text("figure", {"x": {"value": -10}, "y": y}, figure, data=names, colour={"value": "var(--muted)"}),
    ]


def _text(
    field: str,
    at: dict[str, Any],
    mark: dict[str, Any],
    *,
    data: list[dict[str, Any]] | None = None,
    colour: dict[str, Any] | None = None,
) -> dict[str, Any]:
    layer: dict[str, Any] = {
        "mark": {"type": "text", "fontSize": FONT, "baseline": "middle", **mark},
        "encoding": {
            **at,
            "text": {"field": field, "type": "nominal"},
            "color": {"type": "nominal", **colour}
            if colour and "field" in colour
            else colour or {"value": "var(--ink)"},
        },
    }
    return layer if data is None else {"data": {"values": data}, **layer}
