"""Line charts as SVG, without scripts: axes, a few ticks, a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 460, 240, 62, 22, 40, 12
_MOST_STEPS = 5
_COLORS = ("#1f6feb", "#d9480f", "#2b8a3e", "#862e9c", "#b08900", "#0b7285", "#c2255c", "#495057")

Points = Sequence[tuple[float, float]]


def line_chart(title: str, x_name: str, y_name: str, lines: Sequence[tuple[str, Points]]) -> str:
    """All lines in one frame from zero on; at most 8 are told apart by colour."""
    shown = [(name, points) for name, points in lines if points]
    if not shown:
        return ""
    across = _ticks(max(x for _, points in shown for x, _ in points))
    upwards = _ticks(max(y for _, points in shown for _, y in points))
    right, top = across[-1], upwards[-1]
    parts = [
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        *_frame(across, upwards, x_name, y_name),
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


def _frame(across: Sequence[float], upwards: Sequence[float], x_name: str, y_name: str) -> list[str]:
    parts, floor = [], _HEIGHT - _BOTTOM
    for value in upwards:
        y = _y(value, upwards[-1])
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_label(value)}</text>')
    for value in across:
        x = _x(value, across[-1])
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{floor}" y2="{floor + 4}" stroke="#999"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{_label(value)}</text>')
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
    return _LEFT + (_WIDTH - _RIGHT - _LEFT) * value / right


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / top


def _ticks(most: float) -> list[float]:
    """Round numbers from zero to the first at or above the largest value: at most five steps.

    >>> _ticks(2.3), _ticks(6894), _ticks(0)
    ([0.0, 0.5, 1.0, 1.5, 2.0, 2.5], [0.0, 2000.0, 4000.0, 6000.0, 8000.0], [0.0, 1.0])
    """
    if not most > 0:
        return [0.0, 1.0]
    size = float(10 ** math.floor(math.log10(most / _MOST_STEPS)))
    step = next(each * size for each in (1, 2, 2.5, 5, 10) if each * size * _MOST_STEPS >= most * 0.999)
    return [round(at * step, 12) for at in range(math.ceil(most * 0.999 / step) + 1)]


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
