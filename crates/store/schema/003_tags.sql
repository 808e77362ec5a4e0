-- Names that a user gave to runs. The latest row of an experiment and a name holds; earlier ones stay.
-- A tag changes nothing that a judge reads, so the run's revision and its judgement stay as they are.
CREATE TABLE run_tag (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (seq),
    experiment TEXT NOT NULL,
    name TEXT NOT NULL,
    at_unix_ms INTEGER NOT NULL,
    removed INTEGER NOT NULL CHECK (removed IN (0, 1))
) STRICT;
CREATE INDEX run_tag_latest ON run_tag (experiment, name, seq);

CREATE TRIGGER run_tag_stays BEFORE UPDATE ON run_tag
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be altered'); END;
CREATE TRIGGER run_tag_kept BEFORE DELETE ON run_tag
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be removed'); END;
