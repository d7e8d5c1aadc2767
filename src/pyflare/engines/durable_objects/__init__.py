"""Durable Objects (developers.cloudflare.com/durable-objects/).

An object is an actor with an input gate, an output gate and a SQLite file; ids, files and alarms are those of
wrangler's local mode. Left out: jurisdictions and location hints have no effect on one machine, point-in-time recovery
and read replicas are refused as locally on Cloudflare's own runtime, facets have no alarms.

    binding, namespace   env's namespaces, ids, stubs; a class     alarms, firing   the two places of an alarm; its runs
    actor, instance      one object; one life of it               sockets          hibernating WebSockets
    gates, handlers      input and output gate; calling it        state, storage   `ctx` and `ctx.storage`
    migrations, ledger   what they do to data; what we remember   facets, place    objects within an object
    kv, sql              what lies in an object's file            query            SQL of an operator
    deadlines            of what is in flight
"""

from pyflare.engines.durable_objects.engine import DurableObjects

ENGINE = DurableObjects
