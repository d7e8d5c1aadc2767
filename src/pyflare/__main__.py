"""`python -m pyflare`."""

from pyflare.cli import main

main(prog_name="pyflare")
