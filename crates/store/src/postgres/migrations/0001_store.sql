-- The tables of a store that several processes share. `schema.rs` runs this once, in one transaction.
--
-- Times are milliseconds since 1970, from the clock of the process that writes. Ids sort by byte, as in the other backends.

CREATE TABLE body (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner TEXT NOT NULL CHECK (owner <> ''),
    -- The session whose quota an unfinished body uses.
    session TEXT NOT NULL,
    hash BYTEA NOT NULL,
    bytes BIGINT NOT NULL,
    stored BIGINT NOT NULL,
    visible BOOLEAN NOT NULL,
    created BIGINT NOT NULL,
    -- The object with its chunks; NULL if they are rows of `chunk`.
    object TEXT
);
CREATE UNIQUE INDEX body_by_hash ON body (owner, hash) WHERE visible;
CREATE INDEX body_unfinished ON body (created) WHERE NOT visible;

CREATE TABLE chunk (
    body BIGINT NOT NULL REFERENCES body (id),
    number INTEGER NOT NULL,
    owner TEXT NOT NULL CHECK (owner <> ''),
    hash BYTEA NOT NULL,
    -- NULL if the bytes are in an object.
    data BYTEA,
    -- Where the bytes are in the object.
    start BIGINT NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (body, number)
);
-- The bytes are compressed already.
ALTER TABLE chunk ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE artifact (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT NOT NULL CHECK (owner <> ''),
    session TEXT NOT NULL,
    body BIGINT NOT NULL REFERENCES body (id),
    tool TEXT NOT NULL,
    kind TEXT NOT NULL,
    records BIGINT,
    tokens BIGINT NOT NULL,
    outline BYTEA NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    server TEXT NOT NULL,
    arguments TEXT NOT NULL,
    call BYTEA,
    -- The order of insertion, for results that were stored in the same millisecond.
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    -- Random in each `put`, which finds by it that its own commit succeeded although the answer was lost.
    put BIGINT NOT NULL
);
CREATE INDEX artifact_by_body ON artifact (body, session);
CREATE INDEX artifact_by_expiry ON artifact (expires);
CREATE INDEX artifact_by_owner ON artifact (owner, created);
CREATE INDEX artifact_by_age ON artifact (created);
CREATE INDEX artifact_by_call ON artifact (call) WHERE call IS NOT NULL;

-- What is in use of each quota. A transaction locks the rows it changes in the order session, owner, store.
CREATE TABLE quota_use (
    -- 0: the store, 1: an owner, 2: a session of an owner.
    scope SMALLINT NOT NULL,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,
    artifacts BIGINT NOT NULL,
    stored BIGINT NOT NULL,
    PRIMARY KEY (scope, owner, session)
) WITH (fillfactor = 50);
INSERT INTO quota_use VALUES (0, '', '', 0, 0);

-- Which key the content is sealed with; no row if it is not encrypted.
CREATE TABLE encryption (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    record BYTEA NOT NULL
);

-- Objects that no body refers to: those being written, and those of deleted bodies.
CREATE TABLE orphan (
    object TEXT PRIMARY KEY,
    since BIGINT NOT NULL
);
CREATE INDEX orphan_by_age ON orphan (since);

CREATE TABLE call (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner TEXT NOT NULL,
    at BIGINT NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX call_by_time ON call (at);
CREATE INDEX call_by_owner ON call (owner, at);

-- A second guard beside the conditions of the statements: without one of the two settings a transaction sees nothing.
-- FORCE applies it to the role that owns the tables as well.
ALTER TABLE body ENABLE ROW LEVEL SECURITY;
ALTER TABLE body FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON body USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
ALTER TABLE chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE chunk FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON chunk USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
ALTER TABLE artifact ENABLE ROW LEVEL SECURITY;
ALTER TABLE artifact FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON artifact USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
ALTER TABLE call ENABLE ROW LEVEL SECURITY;
ALTER TABLE call FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON call USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
-- Every owner counts into the row of the store.
ALTER TABLE quota_use ENABLE ROW LEVEL SECURITY;
ALTER TABLE quota_use FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON quota_use USING (
    scope = 0 OR owner = current_setting('tidegate.owner', true)
    OR current_setting('tidegate.all_owners', true) = 'on');
