"""pyflare runs Cloudflare Python Workers on CPython.

One request in seven files, always downward:

    1. front/http.py            bytes of a connection become an exchange
    2. front/app.py             the exchange becomes a `Request`; control paths branch off here
    3. server.py                an asset answers, or the primary worker
    4. worker/dispatch.py       the event becomes a call of the user's handler, inside the portal
       (user code)              `await self.env.KV.put("k", "v")`
    5. engines/kv/binding.py    Cloudflare's names; arguments are checked and copied
    6. engines/kv/namespace.py  what KV allows: sizes, expiries, how often a key may be written
    7. storage/keyvalue.py      rows of a SQLite file and values in files, with `now` as a parameter

Time comes back up: `scheduler.py` asks every room when it is next due and tells it the time; what a room starts goes
through `worker/dispatch.py` to the user's code again.
"""

__version__ = "0.1.0"
