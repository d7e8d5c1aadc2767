"""`pyflare dev` as processes: one outside that keeps sockets and files in view, one that holds the workers.

    supervisor  listens, watches files, holds the lock; starts, hands over and stops runtimes
    runtime     the process that holds the workers, `python -m pyflare.supervisor.runtime`
    child       starts a runtime, and says how it ended
    line        messages and file descriptors between the two
    watch       which files changed
    warm        imports packages ahead of a hand-over
    build       `build.command`
    stranded    answers while no runtime can be started
    alone       `--no-reload`: both parts in one process

Nothing is imported here, since each of the two processes needs its own part only.
"""
