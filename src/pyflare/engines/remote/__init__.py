"""Bindings that only Cloudflare has: models, vector indexes, browsers and the like.

A worker that has one starts; a call raises what wrangler says without access to an account.
`[tool.pyflare.fakes]` in pyproject.toml puts an object of the user's in the place of a binding:

    [tool.pyflare.fakes]
    AI = "tests.fakes:Ai"     # the class Ai of tests/fakes.py, made without arguments when it is first used

The module lies beside `main`, in the folder of pyproject.toml, where it is not deployed, or is installed.
"""

from pyflare.engines.remote.engine import Remote

ENGINE = Remote
