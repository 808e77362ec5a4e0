// Compares the figures of a page with the JSON export of its run.

/** Runs in the page: what it says in numbers and sentences. */
export function _said() {
  const rows = (table) => [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((entry) => entry.textContent));
  const cells = {};
  for (const cell of document.querySelectorAll("details.cell")) {
    const own = { name: cell.querySelector("h3").textContent, metrics: {} };
    for (const row of rows(cell).filter((row) => row.length === 6)) own.metrics[row[0]] = row.slice(1, 5);
    cells[cell.id.replace("cell-", "")] = own;
  }
  const plots = [...document.querySelectorAll("figure[id^=dots-]")].map((figure) => ({
    name: figure.id,
    title: figure.querySelector("figcaption strong").textContent,
    columns: [...figure.querySelectorAll("table.numbers th")].map((head) => head.textContent),
    rows: rows(figure),
  }));
  // What a script adds can be pressed or chosen; it says nothing.
  const main = document.querySelector("main").cloneNode(true);
  main.querySelectorAll("button, select").forEach((part) => part.remove());
  return { cells, plots, text: main.textContent };
}

const near = (text, value) => (value === null || value === undefined ? text === "?" : Math.abs(Number(text) - value) <= 1e-5 * Math.abs(value));

/** Each figure of each cell. */
export function cells(said, run) {
  const faults = [];
  for (const cell of run.cells) {
    for (const [name, metric] of Object.entries(cell.metrics)) {
      const found = said.cells[cell.id]?.metrics[name];
      const values = [metric.estimate, metric.low, metric.high, metric.n];
      if (!found || !values.every((value, at) => near(found[at], value))) faults.push(`${cell.id} ${name}: the page has ${found}, the export ${values}`);
    }
  }
  return faults;
}

/** Each row of each dot plot: mean, interval, every trial, and the ratio to the best. */
export function plots(said, run) {
  const faults = [];
  let compared = 0;
  for (const plot of said.plots) {
    const [, metric, workload] = plot.title.match(/^(\S+) of (.*)$/);
    const beside = plot.columns.indexOf("best / this one");
    for (const row of plot.rows) {
      const [label, estimate, low, high, n, trials] = row;
      const place = row[plot.columns.indexOf("place")];
      const [ratio, ratio_low, ratio_high] = beside < 0 ? [] : row.slice(beside);
      const cell = run.cells.find((cell) => cell.workload === workload && said.cells[cell.id]?.name === label);
      const figure = cell?.metrics[metric];
      if (!figure) {
        faults.push(`${plot.name}: the export has no ${metric} of ${label}`);
        continue;
      }
      compared += 1;
      const all = trials === "" ? [] : trials.split(", ");
      const same = near(estimate, figure.estimate) && near(low, figure.low) && near(high, figure.high) && near(n, figure.values.length)
        && all.length === figure.values.length && all.every((trial, at) => near(trial, figure.values[at]));
      if (!same) faults.push(`${plot.name} ${label}: the page has ${[estimate, low, high, n, trials]}, the export ${JSON.stringify(figure)}`);
      if (place === "best" && !run.answers.some((answer) => answer.best === cell.id)) faults.push(`${plot.name} ${label}: best on the page, not in the export`);
      if (ratio === undefined || ratio === "") continue;
      const to = run.answers.flatMap((answer) => answer.comparisons.filter((one) => one.a === answer.best)).find((one) => one.b === cell.id)?.ratio;
      if (!to || !(near(ratio, to.ratio) && near(ratio_low, to.low) && near(ratio_high, to.high))) {
        faults.push(`${plot.name} ${label}: the ratio is ${[ratio, ratio_low, ratio_high]}, the export has ${JSON.stringify(to)}`);
      }
    }
  }
  return compared === 0 ? ["nothing was compared", ...faults] : faults;
}

/** Sentences of the export that the page lacks: answers, sweeps, findings and their remedies. */
export function sentences(said, run) {
  const plain = (text) => text.replace(/\s+/g, " ");
  const page = plain(said.text);
  const wanted = [run.question ?? "", run.seed.toString(), ...[...run.answers, ...run.sweeps, ...run.findings].map((one) => one.text), ...run.findings.map((one) => one.remedy)];
  return wanted.filter((text) => !page.includes(plain(text))).map((text) => `not on the page: ${text}`);
}
