"""Reads tidy exports by pandas and by DuckDB, and compares both with the JSON export. Arguments: trials, series, JSON."""

import json
import sys

import duckdb
import pandas

trials_path, series_path, json_path = sys.argv[1:]
with open(json_path) as file:
    run = json.load(file)
checked = 0


def equal(found, expected, of):
    """Every figure has the same digits in both exports, so nothing is rounded here."""
    global checked
    assert found == expected, f"{of}: {found} is not {expected}"
    checked += 1


trials = pandas.read_csv(trials_path)
for cell in run["cells"]:
    for name, metric in cell["metrics"].items():
        rows = trials[(trials.cell == cell["id"]) & (trials.metric == name) & (trials.failed == 0)].sort_values("round")
        of = f"{cell['workload']} {name}"
        equal(list(rows.value), metric["values"], of)
        equal(set(rows.unit), {metric["unit"]}, f"unit of {of}")
        by_sql = duckdb.sql(
            f"select value from '{trials_path}' where cell = '{cell['id']}' and metric = '{name}' and failed = 0 order by round"
        ).fetchall()
        equal([value for (value,) in by_sql], metric["values"], f"{of} by DuckDB")

series = pandas.read_csv(series_path)
equal(len(series), duckdb.sql(f"select count(*) from '{series_path}'").fetchall()[0][0], "rows of the series")
for cell in run["cells"]:
    steps = series[(series.cell == cell["id"]) & (series.source == "engine") & (series.measured == 1)]
    assert len(steps) > 0, f"{cell['workload']}: the series has no step of the engine"
    total = ((steps.read_iops + steps.write_iops) * steps.step_seconds).groupby(steps["round"]).sum()
    seconds = steps.step_seconds.groupby(steps["round"]).sum()
    for in_series, of_trial in zip(total / seconds, cell["metrics"]["iops"]["values"], strict=True):
        assert abs(in_series / of_trial - 1) < 0.5, f"{cell['workload']}: {in_series} IOPS by its series, {of_trial} by its trial"
        checked += 1
print(f"test result: ok. {checked} figures are the same to pandas, DuckDB and JSON")
