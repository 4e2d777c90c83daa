CREATE TABLE error_kinds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    normal TEXT NOT NULL
);

CREATE TABLE errors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chain TEXT NOT NULL UNIQUE,
    kind_id INTEGER NOT NULL REFERENCES error_kinds (id),
    session TEXT NOT NULL,
    at REAL NOT NULL,
    message TEXT NOT NULL,
    context TEXT NOT NULL,
    tool TEXT,
    call TEXT,
    times INTEGER NOT NULL DEFAULT 1,
    fixed_at REAL
);
CREATE INDEX errors_of_kind ON errors (kind_id);
CREATE INDEX errors_of_session ON errors (session, fixed_at);

CREATE TABLE fixes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    error_id INTEGER NOT NULL REFERENCES errors (id),
    at REAL NOT NULL,
    description TEXT NOT NULL,
    successful INTEGER NOT NULL
);
CREATE INDEX fixes_of_error ON fixes (error_id);

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    error_id INTEGER NOT NULL REFERENCES errors (id),
    at REAL NOT NULL,
    tool TEXT NOT NULL,
    what TEXT NOT NULL,
    ok INTEGER NOT NULL,
    fix_id INTEGER REFERENCES fixes (id)
);
CREATE INDEX attempts_of_error ON attempts (error_id);

CREATE TABLE patterns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    project TEXT NOT NULL,
    title TEXT NOT NULL,
    details TEXT NOT NULL,
    score REAL NOT NULL,
    times INTEGER NOT NULL DEFAULT 1,
    first_at REAL NOT NULL,
    last_at REAL NOT NULL
);

CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    project TEXT,
    started REAL NOT NULL,
    ended REAL,
    last REAL NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    at REAL NOT NULL,
    score REAL
);
CREATE INDEX checkpoints_of_session ON checkpoints (session);

CREATE TABLE session_files (
    session TEXT NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (session, path)
) WITHOUT ROWID;

CREATE TABLE activity (
    session TEXT NOT NULL,
    quarter INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (session, quarter)
) WITHOUT ROWID;

CREATE TABLE tool_calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    tool TEXT NOT NULL,
    at REAL NOT NULL,
    ms REAL,
    ok INTEGER NOT NULL
);
CREATE INDEX tool_calls_of_session ON tool_calls (session);

CREATE TABLE inferences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    model TEXT NOT NULL,
    at REAL NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_creation INTEGER NOT NULL,
    cost REAL,
    reported REAL
);
CREATE INDEX inferences_of_session ON inferences (session);
