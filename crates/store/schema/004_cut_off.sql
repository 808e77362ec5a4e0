-- A trial that was cut off, e.g. because its machine was lost, is made again: a cell may then have several trials of one round, of which
-- at most one was not cut off. SQLite can't change a constraint of a table, so this small table is made anew with all it holds.
CREATE TABLE trial_anew (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (seq),
    cell TEXT NOT NULL,
    round INTEGER NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    failed INTEGER NOT NULL CHECK (failed IN (0, 1)),
    -- 0: it was not cut off. Else the number of this one among those that were.
    cut_off INTEGER NOT NULL DEFAULT 0 CHECK (cut_off = 0 OR (cut_off > 0 AND failed = 1)),
    UNIQUE (run, cell, round, cut_off)
) STRICT;
INSERT INTO trial_anew (seq, run, cell, round, started_unix_ms, failed)
    SELECT seq, run, cell, round, started_unix_ms, failed FROM trial ORDER BY seq;
DROP TABLE trial;
ALTER TABLE trial_anew RENAME TO trial;
CREATE INDEX trial_in_order ON trial (run, seq);
CREATE INDEX trial_of_cell ON trial (run, cell, round, seq);

CREATE TRIGGER trial_counts AFTER INSERT ON trial BEGIN
    UPDATE run SET
        trials_done = trials_done + (NEW.cut_off = 0),
        trials_failed = trials_failed + (NEW.cut_off = 0 AND NEW.failed),
        revision = revision + 1
    WHERE seq = NEW.run;
    DELETE FROM judgement WHERE run = NEW.run;
END;
CREATE TRIGGER trial_stays BEFORE UPDATE ON trial
BEGIN SELECT RAISE(ABORT, 'append-only: a trial can''t be altered'); END;
CREATE TRIGGER trial_kept BEFORE DELETE ON trial
BEGIN SELECT RAISE(ABORT, 'append-only: a trial can''t be removed'); END;
