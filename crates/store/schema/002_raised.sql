-- Budgets of a run that were raised after it had begun; the latest row holds, earlier ones stay. JSON.
CREATE TABLE run_raised (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (seq),
    at_unix_ms INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TRIGGER raised_counts AFTER INSERT ON run_raised BEGIN
    UPDATE run SET revision = revision + 1 WHERE seq = NEW.run;
    DELETE FROM judgement WHERE run = NEW.run;
END;
CREATE TRIGGER run_raised_stays BEFORE UPDATE ON run_raised
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be altered'); END;
CREATE TRIGGER run_raised_kept BEFORE DELETE ON run_raised
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be removed'); END;
