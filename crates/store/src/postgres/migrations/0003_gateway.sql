-- What replicas of a gateway share besides results.

-- What callers consumed on a day, for limits. Every replica adds to it each second.
CREATE TABLE daily_total (
    day TEXT NOT NULL,
    owner TEXT NOT NULL CHECK (owner <> ''),
    requests BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    stored BIGINT NOT NULL,
    PRIMARY KEY (day, owner)
) WITH (fillfactor = 50);

-- Credentials that callers have for servers, sealed with the key of the store.
CREATE TABLE credential (
    owner TEXT NOT NULL CHECK (owner <> ''),
    server TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    changed BIGINT NOT NULL,
    PRIMARY KEY (owner, server)
);

ALTER TABLE daily_total ENABLE ROW LEVEL SECURITY;
ALTER TABLE daily_total FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON daily_total USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
ALTER TABLE credential ENABLE ROW LEVEL SECURITY;
ALTER TABLE credential FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON credential USING (
    owner = current_setting('tidegate.owner', true) OR current_setting('tidegate.all_owners', true) = 'on');
