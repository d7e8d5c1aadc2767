"""The Cache API: `caches.default` and `caches.open(name)`, with the rules of HTTP for shared caches.

developers.cloudflare.com/workers/runtime-apis/cache. Left out: tiers of caches, the purge by tag of a zone, and the
lifetime that a zone gives to an answer without one ("Edge TTL"), which on wrangler is not kept either.
"""

from pyflare.engines.cache.engine import Cache

ENGINE = Cache
