"""Tail workers: after each event of a producer its tail consumers hear what it did.

developers.cloudflare.com/workers/observability/logs/tail-workers. A consumer is a worker of this server with
`tail(self, events, env, ctx)`; it gets one item at a time. Left out: `tailStream`, so that streaming consumers hear
of an event when it has ended; consumers of tail events themselves; CPU time.
"""

from pyflare.engines.tails.engine import Tails

ENGINE = Tails
