"""D1: SQL databases. developers.cloudflare.com/d1

A database is one SQLite file, the one that wrangler's local mode uses; other processes may write it at any time. Every
request (a statement, a `batch`, an `exec`) is one transaction. Left out: replicas, time travel, `dump()`, which
production does not serve any more either.
"""

from pyflare.engines.d1.engine import D1

ENGINE = D1
