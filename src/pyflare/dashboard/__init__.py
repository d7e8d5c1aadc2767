"""The local explorer: a page that shows every room, and Cloudflare's REST paths over the local data.

    /cdn-cgi/local/explorer                       the page (`static/`), which draws what rooms say of themselves
    /cdn-cgi/local/explorer/api                   an OpenAPI description of what follows
    …/api/local/panels                            all panels as JSON; POST …/{room}/{action} does something
    …/api/local/workers                           the workers and what they are bound to
    …/api/storage/kv, d1, r2, workers/durable_objects   as on Cloudflare (miniflare's `local-explorer`)
    …/api/workflows, accounts/{id}/queues, …      what a room offers by its `routes()`
    /cdn-cgi/local/durable-objects                list, evict, abort, delete objects, run an alarm: see `hooks`

`/cdn-cgi/explorer` is the same. X_LOCAL_EXPLORER=false takes both away and leaves `/cdn-cgi/pyflare/explorer`, which
pyflare's own commands ask. Starlette is imported with the first request; `panels` does without it. Host and Origin of
every request were checked by `front.control`.
"""

EXPLORER, EXPLORER_ALIAS = "/cdn-cgi/local/explorer", "/cdn-cgi/explorer"
FOR_COMMANDS = "/cdn-cgi/pyflare/explorer"
OBJECTS = "/cdn-cgi/local/durable-objects"
