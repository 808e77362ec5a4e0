-- The store's first format. docs/formats.md describes it for readers; this file is what is run.
-- Everything here is append-only: what a trial left behind is never altered or removed, and triggers see to it.
-- `judgement` alone is a cache, and may be emptied at any time.

CREATE TABLE format (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL
) STRICT;

-- One row per run, small, so that a list of runs reads nothing else.
CREATE TABLE run (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    experiment TEXT NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    trials_planned INTEGER NOT NULL,
    -- Kept by triggers:
    trials_done INTEGER NOT NULL DEFAULT 0,
    trials_failed INTEGER NOT NULL DEFAULT 0,
    stopped TEXT NOT NULL DEFAULT '{"reason":"unfinished"}',
    -- Counts every change of the run; a judgement of an earlier revision is out of date.
    revision INTEGER NOT NULL DEFAULT 0
) STRICT;

-- zstd of JSON.
CREATE TABLE run_plan (
    run INTEGER PRIMARY KEY REFERENCES run (seq),
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    plan BLOB NOT NULL
) STRICT;

-- What was said of a run while it went; the latest of each kind holds. JSON.
CREATE TABLE run_fact (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (seq),
    kind TEXT NOT NULL CHECK (kind IN ('environment', 'volumes', 'stopped')),
    at_unix_ms INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX run_fact_latest ON run_fact (run, kind, seq);

CREATE TABLE trial (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (seq),
    cell TEXT NOT NULL,
    round INTEGER NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    failed INTEGER NOT NULL CHECK (failed IN (0, 1)),
    UNIQUE (run, cell, round)
) STRICT;
CREATE INDEX trial_in_order ON trial (run, seq);

-- The bulk of a trial, apart from its row so that lists stay small. zstd of JSON; `raw` is zstd of the engine's own text.
CREATE TABLE trial_body (
    trial INTEGER PRIMARY KEY REFERENCES trial (seq),
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    record BLOB NOT NULL,
    samples BLOB NOT NULL,
    raw BLOB
) STRICT;

CREATE TABLE judgement (
    run INTEGER NOT NULL REFERENCES run (seq),
    judge TEXT NOT NULL,
    revision INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, judge)
) STRICT;

CREATE TRIGGER trial_counts AFTER INSERT ON trial BEGIN
    UPDATE run SET
        trials_done = trials_done + 1,
        trials_failed = trials_failed + NEW.failed,
        revision = revision + 1
    WHERE seq = NEW.run;
    DELETE FROM judgement WHERE run = NEW.run;
END;

CREATE TRIGGER fact_counts AFTER INSERT ON run_fact BEGIN
    UPDATE run SET
        stopped = CASE NEW.kind WHEN 'stopped' THEN NEW.body ELSE stopped END,
        revision = revision + 1
    WHERE seq = NEW.run;
    DELETE FROM judgement WHERE run = NEW.run;
END;

CREATE TRIGGER run_stays BEFORE UPDATE OF seq, id, experiment, started_unix_ms, trials_planned ON run
BEGIN SELECT RAISE(ABORT, 'append-only: a run''s identity can''t be altered'); END;
CREATE TRIGGER run_counts_up BEFORE UPDATE ON run
WHEN NEW.revision <> OLD.revision + 1 OR NEW.trials_done < OLD.trials_done OR NEW.trials_failed < OLD.trials_failed
BEGIN SELECT RAISE(ABORT, 'append-only: a run''s counts can only grow'); END;
CREATE TRIGGER run_kept BEFORE DELETE ON run
BEGIN SELECT RAISE(ABORT, 'append-only: a run can''t be removed'); END;
CREATE TRIGGER run_plan_stays BEFORE UPDATE ON run_plan
BEGIN SELECT RAISE(ABORT, 'append-only: a plan can''t be altered'); END;
CREATE TRIGGER run_plan_kept BEFORE DELETE ON run_plan
BEGIN SELECT RAISE(ABORT, 'append-only: a plan can''t be removed'); END;
CREATE TRIGGER run_fact_stays BEFORE UPDATE ON run_fact
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be altered'); END;
CREATE TRIGGER run_fact_kept BEFORE DELETE ON run_fact
BEGIN SELECT RAISE(ABORT, 'append-only: what was said of a run can''t be removed'); END;
CREATE TRIGGER trial_stays BEFORE UPDATE ON trial
BEGIN SELECT RAISE(ABORT, 'append-only: a trial can''t be altered'); END;
CREATE TRIGGER trial_kept BEFORE DELETE ON trial
BEGIN SELECT RAISE(ABORT, 'append-only: a trial can''t be removed'); END;
CREATE TRIGGER trial_body_stays BEFORE UPDATE ON trial_body
BEGIN SELECT RAISE(ABORT, 'append-only: a trial can''t be altered'); END;
CREATE TRIGGER trial_body_kept BEFORE DELETE ON trial_body
BEGIN SELECT RAISE(ABORT, 'append-only: a trial can''t be removed'); END;
