"""Cloudflare Workflows: durable execution on SQLite (`v3/pyflare/workflows.sqlite`).

What Cloudflare does: developers.cloudflare.com/workflows. `run()` is replayed from its beginning whenever an instance
goes on; a step that has finished gives its recorded result instead of running. Instances, steps, attempts, events and
waits are rows: an instance that only waits is dropped from memory after a while and replayed when its time has come.
Production's rules hold where they differ from `wrangler dev`: an id that exists is refused, `waiting` is a status.

What is left out: `schedules`, the limits on concurrent instances, retention unless `create` asks for it.

    config      what the wrangler section means, and the limits
    duration    "10 seconds", and the options of a step
    binding     env.WORKFLOW and its instances
    step        what `run` gets to call
    run         one instance in memory: which steps it has called, what it waits for
    call        a step that was called and has not ended
    attempts    of `step.do`: results, failures, the pauses between
    waiting     whether all tasks of an instance wait for the engine
    replay      whether a replay follows the recorded steps
    rollback    compensation, the last step first
    awake       the instances in memory: start, wake, park, interrupt
    operations  create, pause, resume, terminate, restart, send an event, delete
    history     an instance as an operator sees it
    engine      the room
    store       all rows; `schema` holds their tables, `rows` their shapes
    faults      errors between the worker, the rows and JavaScript
    rest        the REST paths that wrangler and the explorer use
    actions     the same for the dashboard and the command line
    panel       what the dashboard shows
"""

from pyflare.engines.workflows.engine import Workflows

ENGINE = Workflows
