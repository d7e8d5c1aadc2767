"""Bindings that only Cloudflare has: models, vector indexes, browsers and the like.

A worker that has one starts; a call raises what wrangler says without access to an account. For tests,
`[tool.pyflare.fakes]` in pyproject.toml puts an object of the user's in the place of a binding:

    [tool.pyflare.fakes]
    AI = "fakes:FakeAi"     # the class FakeAi of the module fakes, made without arguments when it is first used
"""

from pyflare.engines.remote.engine import Remote

ENGINE = Remote
