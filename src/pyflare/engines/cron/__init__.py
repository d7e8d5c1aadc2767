"""Cron triggers: `triggers.crons` and the `scheduled` handler.

What Cloudflare does: developers.cloudflare.com/workers/configuration/cron-triggers. As with `wrangler dev`, nothing
fires by itself unless `--cron` is given; the hooks `/__scheduled` and `/cdn-cgi/…/scheduled` run any expression.

What is left out: the hour that a new trigger takes to spread, and runs that Cloudflare repeats by itself (`noRetry` is
reported and has no further effect).
"""

from pyflare.engines.cron.engine import Cron

ENGINE = Cron
