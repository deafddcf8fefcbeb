-- The upload in parts that writes an object, so that a sweep can remove its parts if the process is killed.
ALTER TABLE orphan ADD COLUMN upload TEXT;
