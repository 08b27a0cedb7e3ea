"""Recorders for agent frameworks: a module each, which imports its framework."""
