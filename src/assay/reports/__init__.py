"""Render results as text, JSON, SARIF or annotations; returns strings, writes nothing."""
