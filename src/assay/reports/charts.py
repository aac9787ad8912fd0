"""Line charts as SVG, without scripts: axes, a few ticks, a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 240, 62, 40, 12
_COLORS = ("#1f6feb", "#d9480f", "#2b8a3e", "#862e9c", "#b08900", "#0b7285", "#c2255c", "#495057")

Points = Sequence[tuple[float, float]]


def line_chart(title: str, x_name: str, y_name: str, lines: Sequence[tuple[str, Points]]) -> str:
    """All lines in one frame from zero on; at most 8 are told apart by colour."""
    shown = [(name, points) for name, points in lines if points]
    if not shown:
        return ""
    right = _nice(max(x for _, points in shown for x, _ in points))
    top = _nice(max(y for _, points in shown for _, y in points))
    parts = [
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        *_frame(right, top, x_name, y_name),
    ]
    for number, (_, points) in enumerate(shown):
        places = " ".join(f"{_x(x, right):.1f},{_y(y, top):.1f}" for x, y in points)
        color = _COLORS[number % len(_COLORS)]
        parts.append(f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="1.6"/>')
        if len(points) < 20:
            parts += [
                f'<circle cx="{_x(x, right):.1f}" cy="{_y(y, top):.1f}" r="2.5" fill="{color}"/>'
                for x, y in points
            ]
    return "".join([*parts, "</svg>", _legend([name for name, _ in shown]), "</figure>"])


def _frame(right: float, top: float, x_name: str, y_name: str) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _x(share * right, right), _y(share * top, top)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:.4g}</text>')
        under = _HEIGHT - _BOTTOM + 15
        parts.append(f'<text x="{x:.1f}" y="{under}" text-anchor="middle">{share * right:.4g}</text>')
    middle = (_LEFT + _WIDTH) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_name)}</text>')
    aside = (_TOP + _HEIGHT - _BOTTOM) / 2
    turn = f'transform="rotate(-90 12 {aside})"'
    parts.append(f'<text x="12" y="{aside}" text-anchor="middle" {turn}>{escape(y_name)}</text>')
    return parts


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    items = (
        f'<span style="color:{_COLORS[number % len(_COLORS)]}">&#9644;</span> {escape(name)}'
        for number, name in enumerate(names)
    )
    return f"<p>{' &nbsp; '.join(items)}</p>"


def _x(value: float, right: float) -> float:
    return _LEFT + (_WIDTH - 8 - _LEFT) * value / right


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / top


def _nice(value: float) -> float:
    """The next round number above."""
    if not value > 0:
        return 1.0
    size = float(10 ** math.floor(math.log10(value)))
    return next(step * size for step in (1, 2, 2.5, 4, 5, 8, 10, 20) if step * size >= value * 0.999)
