"""The tables of `workflows.sqlite`; what the columns mean is told in `store`."""

MIGRATIONS = (
    """
    CREATE TABLE instances (
        id INTEGER PRIMARY KEY,
        workflow TEXT NOT NULL,
        name TEXT NOT NULL,                      -- what Cloudflare calls the instance's id
        status TEXT NOT NULL,                    -- queued running waitingForPause paused complete errored terminated
        awake INTEGER NOT NULL,
        created_at REAL NOT NULL,
        started_at REAL,
        ended_at REAL,
        paused_at REAL,
        rollback TEXT,                           -- NULL; failure or terminate while it rolls back; complete or failed
        rollback_error TEXT,                     -- JSON {name, message}
        error TEXT,                              -- JSON {name, message}
        output TEXT,                             -- JSON
        keep_complete REAL,                      -- retention in seconds; NULL: for ever
        keep_errored REAL,
        expires_at REAL,
        params BLOB NOT NULL,
        UNIQUE (workflow, name)
    ) STRICT;
    CREATE INDEX instances_awake ON instances (awake) WHERE awake;
    CREATE INDEX instances_expiry ON instances (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE steps (
        id INTEGER PRIMARY KEY,
        instance INTEGER NOT NULL,
        kind TEXT NOT NULL,                      -- do sleep event rollback
        name TEXT NOT NULL,
        count INTEGER NOT NULL,
        position INTEGER NOT NULL,
        state TEXT NOT NULL,                     -- running retrying waiting done failed
        attempt INTEGER NOT NULL DEFAULT 0,
        due_at REAL,
        remaining REAL,                          -- seconds that were left when the instance was paused
        started_at REAL NOT NULL,
        ended_at REAL,
        about TEXT,                              -- the config as JSON, the type of an event
        error TEXT,                              -- JSON {name, message}
        streamed INTEGER NOT NULL DEFAULT 0,     -- the result is in `chunks`
        result BLOB,                             -- V8's serialization
        UNIQUE (instance, kind, name, count)
    ) STRICT;
    CREATE INDEX steps_due ON steps (due_at) WHERE due_at IS NOT NULL;
    CREATE TABLE chunks (
        step INTEGER NOT NULL,
        number INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (step, number)
    ) STRICT;
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        instance INTEGER NOT NULL,
        type TEXT NOT NULL,
        at REAL NOT NULL,
        step INTEGER,                            -- the wait that took it; NULL: nobody yet
        payload BLOB NOT NULL
    ) STRICT;
    CREATE INDEX events_waiting ON events (instance, type) WHERE step IS NULL;
    CREATE TABLE log (
        seq INTEGER PRIMARY KEY,
        instance INTEGER NOT NULL,
        at REAL NOT NULL,
        event TEXT NOT NULL,                     -- WORKFLOW_… ROLLBACK_… ATTEMPT_START ATTEMPT_FAILURE
        step INTEGER,
        attempt INTEGER,
        detail TEXT                              -- JSON
    ) STRICT;
    CREATE INDEX log_instance ON log (instance, seq);
    """,
)
