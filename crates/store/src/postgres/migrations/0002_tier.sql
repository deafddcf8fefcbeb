-- The tier that a caller needs to read an artifact. What earlier versions stored needs the lowest.
ALTER TABLE artifact ADD COLUMN tier SMALLINT NOT NULL DEFAULT 0;
