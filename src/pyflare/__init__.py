"""pyflare."""
