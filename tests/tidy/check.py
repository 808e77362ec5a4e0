"""Reads tidy exports by pandas and by DuckDB, and compares both with the JSON export.

Arguments: trials and series as CSV, trials and series as Parquet, JSON.
"""

import json
import sys

import duckdb
import pandas

trials_path, series_path, trials_parquet, series_parquet, json_path = sys.argv[1:]
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
    # The percentiles of a step are in order.
    latency = series[(series.cell == cell["id"]) & (series.source == "read_latency")]
    assert (latency.lat_p50.dropna() <= latency.lat_max.dropna()).all(), f"{cell['workload']}: a median above the longest"
    with_p99 = latency.dropna(subset=["lat_p99"])
    assert ((with_p99.lat_p50 <= with_p99.lat_p99) & (with_p99.lat_p99 <= with_p99.lat_max)).all(), cell["workload"]
    checked += len(latency)
# Both files of a table have the same rows in the same order; Parquet has no text where CSV has an empty field.
for csv, parquet, of in [(trials_path, trials_parquet, "trials"), (series_path, series_parquet, "series")]:
    texts = {column: str for column in ("imported_from", "metric", "unit", "source")}
    figures = ["value", "read_iops", "write_iops", "trim_iops", "bytes_per_second", "lat_p50", "lat_p99", "lat_max"]
    rows = pandas.read_csv(csv, dtype=texts, keep_default_na=False, na_values={column: "" for column in figures})
    by_sql = duckdb.sql(f"select * from '{parquet}'").fetchall()
    equal(list(rows.columns), [column[0] for column in duckdb.sql(f"describe select * from '{parquet}'").fetchall()], f"columns of {of}")
    equal(len(by_sql), len(rows), f"rows of {of}")
    for by_csv, by_parquet in zip(rows.itertuples(index=False), by_sql, strict=True):
        same = [None if pandas.isna(field) else field for field in by_csv]
        level = [str(field) if name.startswith("level_") else field for name, field in zip(rows.columns, same)]
        equal(list(by_parquet), level, f"a row of {of} as Parquet")
print(f"{checked} figures and rows are the same to pandas, DuckDB and JSON")
print("test result: ok. 1 passed; 0 failed")
