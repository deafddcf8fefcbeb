-- Messages between replicas of a gateway.

-- What one replica has for another, or for all others. A notification names the row.
CREATE TABLE replica_message (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Random in each message, by which a replica finds that its own commit succeeded although the answer was lost.
    token BIGINT NOT NULL UNIQUE,
    owner TEXT NOT NULL CHECK (owner <> ''),
    session TEXT NOT NULL,
    sender TEXT NOT NULL,
    -- The replica that it is for; empty for all others.
    replica TEXT NOT NULL,
    -- Whether it is for the client of the session, not from it.
    for_client BOOLEAN NOT NULL,
    -- Sealed with the key of the store, if it has one.
    body BYTEA NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX replica_message_by_replica ON replica_message (replica, number);
CREATE INDEX replica_message_by_owner ON replica_message (owner);
CREATE INDEX replica_message_by_expiry ON replica_message (expires);

-- Sessions that have ended, for as long as their tokens would be valid.
CREATE TABLE ended_session (
    session TEXT PRIMARY KEY,
    owner TEXT NOT NULL CHECK (owner <> ''),
    expires BIGINT NOT NULL
);
CREATE INDEX ended_session_by_expiry ON ended_session (expires);

ALTER TABLE replica_message ENABLE ROW LEVEL SECURITY;
ALTER TABLE replica_message FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON replica_message USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
ALTER TABLE ended_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE ended_session FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON ended_session USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
