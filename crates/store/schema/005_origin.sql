-- Where a run came from that another machine measured, e.g. a registry. JSON; a run of this machine has no row.
CREATE TABLE run_origin (
    run INTEGER PRIMARY KEY REFERENCES run (seq),
    at_unix_ms INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TRIGGER run_origin_stays BEFORE UPDATE ON run_origin
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be altered'); END;
CREATE TRIGGER run_origin_kept BEFORE DELETE ON run_origin
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be removed'); END;

-- What pseudonyms of this store are computed with, so that the same name gets the same pseudonym here and nowhere else.
CREATE TABLE salt (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    bytes BLOB NOT NULL
) STRICT;
CREATE TRIGGER salt_stays BEFORE UPDATE ON salt
BEGIN SELECT RAISE(ABORT, 'append-only: the salt can''t be altered'); END;
CREATE TRIGGER salt_kept BEFORE DELETE ON salt
BEGIN SELECT RAISE(ABORT, 'append-only: the salt can''t be removed'); END;
