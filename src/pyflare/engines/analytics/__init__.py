"""Workers Analytics Engine: `writeDataPoint`, with production's limits. developers.cloudflare.com/analytics

Points are kept and shown; there is no SQL API and no sampling.
"""

from pyflare.engines.analytics.engine import Analytics

ENGINE = Analytics
