"""Durable Objects (developers.cloudflare.com/durable-objects/).

An object is an actor with an input gate, an output gate and a SQLite file; ids, files and alarms are those of
wrangler's local mode. Left out: jurisdictions and location hints have no effect on one machine, point-in-time recovery
and read replicas are refused as locally on Cloudflare's own runtime, facets have no alarms.

    binding     namespace, ids and stubs          alarms, firing   the two places of an alarm; its runs
    actor       one object and its instances      sockets          hibernating WebSockets
    gates       input and output gate             state, storage   `ctx` and `ctx.storage`
"""

from pyflare.engines.durable_objects.engine import DurableObjects

ENGINE = DurableObjects
