"""Fixtures for tests of workers; imports pyflare only when one is used."""
