"""Cloudflare Queues: a broker on SQLite (`v3/pyflare/queues.sqlite`).

What Cloudflare does: developers.cloudflare.com/queues. Production's rules and defaults hold here, not those of
`wrangler dev`: batches of 10 after 5 s, three retries, an acknowledged message stays so when the handler raises. A
message that `send` accepted is on disk; one that was leased when the process died comes back, that attempt counted.

What is left out: the rate of 5,000 messages a second, the backlog limit of 25 GB, event subscriptions, and several
consumers of one queue.

    config     what the wrangler section means, and the limits
    names      which queue's name looks misspelt
    binding    env.QUEUE: send, sendBatch, metrics
    body       the four content types
    batch      what the `queue` handler gets
    options    what options objects hold
    consumer   when one queue's next batch is due, and what is in flight
    pull       the same for a consumer over HTTP: leases of single messages
    engine     delivery, retries, dead letters, operations
    retention  what is too old
    store      the messages, and in `standings` what is said of each queue; `rows` are their shapes
    rest       Cloudflare's REST paths; `shapes` is the JSON they give, `tokens` what clients hand back
    panel      what the dashboard shows
"""

from pyflare.engines.queues.engine import Queues

ENGINE = Queues
