// Turns the places of a picture's marks, as the browser drew them, back into values, and compares these with the table below the picture.

/** Runs in the page: the marks and the table of each figure that has an axis. Places are in the units of the picture. */
export function _drawn() {
  const ends = (text) => text.split(" ").map(Number);
  /** The points of each part of a path. */
  const parts_of = (data) => {
    const parts = [];
    let [x, y, step] = [0, 0, "M"];
    const tokens = data.match(/[MLHVlhv]|-?\d+(?:\.\d+)?/g) ?? [];
    for (let at = 0; at < tokens.length;) {
      if (/[A-Za-z]/.test(tokens[at])) step = tokens[at++];
      const next = () => Number(tokens[at++]);
      if (step === "M") { [x, y] = [next(), next()]; parts.push([]); }
      else if (step === "l") [x, y] = [x + next(), y + next()];
      else if (step === "h") x += next();
      else if (step === "v") y += next();
      else throw new Error(`a path has the step ${step}`);
      parts.at(-1).push({ x, y });
    }
    return parts;
  };
  const all_parts = (root, selector) => [...root.querySelectorAll(selector)].filter(seen).flatMap((path) => parts_of(path.getAttribute("d")));
  const seen = (node) => getComputedStyle(node).display !== "none";
  const figures = [];
  for (const figure of document.querySelectorAll("figure[id]")) {
    const svg = figure.querySelector("svg.chart");
    if (!svg?.querySelector("g.axis[data-scale]")) continue;
    const back = svg.getScreenCTM().inverse();
    const at = (x, y) => { const point = new DOMPoint(x, y).matrixTransform(back); return { x: point.x, y: point.y }; };
    const box = (node) => { const r = node.getBoundingClientRect(); return { from: at(r.left, r.top), to: at(r.right, r.bottom), middle: at((r.left + r.right) / 2, (r.top + r.bottom) / 2) }; };
    const axes = [...svg.querySelectorAll("g.axis[data-scale]")].map((axis) => {
      const [line] = all_parts(axis, "path.grid");
      const along = line && line[0].x === line[1].x ? "x" : "y";
      return { along, log: axis.dataset.scale === "log", domain: ends(axis.dataset.domain), range: ends(axis.dataset.range) };
    });
    // A line has no extent across, so its ends are read from its attributes.
    const line = (node) => ({ from: { x: +node.getAttribute("x1"), y: +node.getAttribute("y1") }, to: { x: +node.getAttribute("x2"), y: +node.getAttribute("y2") } });
    const rows = [...svg.querySelectorAll("g.row")].map((row) => ({
      title: row.querySelector("title")?.textContent ?? "",
      means: [...row.querySelectorAll("circle.mean:not(.ratio)")].map((node) => box(node).middle),
      ratios: [...row.querySelectorAll("circle.ratio")].map((node) => box(node).middle),
      trials: all_parts(row, "path.trials").map(([place]) => place),
      intervals: [...row.querySelectorAll("line.interval")].map(line),
      said: [...row.querySelectorAll("text.said")].map((node) => node.textContent),
    }));
    const thin = all_parts(svg, "path.thin");
    const parts = [...svg.querySelectorAll("rect.part")].map((node) => ({ name: node.classList[1], ...box(node) }));
    const table = figure.querySelector("table.numbers");
    const columns = [...(table?.querySelectorAll("th") ?? [])].map((node) => node.textContent);
    const numbers = [...(table?.querySelectorAll("tbody tr") ?? [])].map((row) => [...row.querySelectorAll("td")].map((node) => node.textContent));
    figures.push({ name: figure.id, axes, rows, thin, parts, columns, numbers });
  }
  return figures;
}

/** The value at a place of an axis. */
function value(axis, place) {
  const [low, high] = axis.domain;
  const share = (place - axis.range[0]) / (axis.range[1] - axis.range[0]);
  return axis.log ? low * (high / low) ** share : low + share * (high - low);
}

/** A fault unless the mark's place is that of the number; coordinates have one decimal. */
function compare(faults, what, axis, place, shown) {
  const number = Number(shown);
  const [low, high] = [value(axis, place[axis.along] - 0.11), value(axis, place[axis.along] + 0.11)].sort((a, b) => a - b);
  const rounding = 1e-5 * Math.abs(number);
  if (!(low - rounding <= number && number <= high + rounding)) faults.push(`${what}: drawn at ${value(axis, place[axis.along])}, the table has ${shown}`);
  return 1;
}

const holds = (axis, shown) => shown !== "" && shown !== "?" && Number(shown) >= axis.domain[0] && Number(shown) <= axis.domain[1];

/** Rows of means with intervals and trials: dot plots, sweeps, ratios. Returns how many marks were compared. */
function rows(figure, faults) {
  const column = (begin) => figure.columns.findIndex((title) => title.startsWith(begin));
  const [low, high, trials, ratio] = [column("low"), column("high"), column("trials"), column("best / this one")];
  const [axis, beside] = figure.axes;
  // A figure of ratios alone has its numbers where others have the estimate.
  const only = figure.columns[2] === "ratio";
  let compared = 0;
  figure.rows.forEach((row, at) => {
    const entries = figure.numbers[at];
    const name = `${figure.name} ${row.title}`;
    const mark = (what, axis, place, shown) => { compared += compare(faults, `${name}: ${what}`, axis, place, shown); };
    const estimate = entries[only ? 2 : 1];
    const centres = only ? row.ratios : row.means;
    if (centres.length === 0 && holds(axis, estimate)) faults.push(`${name}: its mean isn't drawn`);
    centres.forEach((place) => mark("mean", axis, place, estimate));
    const [interval, other] = row.intervals;
    if (interval && holds(axis, entries[low])) {
      mark("low", axis, interval.from, entries[low]);
      mark("high", axis, interval.to, entries[high]);
    }
    if (!only && beside && ratio > 0) {
      row.ratios.forEach((place) => mark("ratio", beside, place, entries[ratio]));
      if (interval && other) {
        mark("ratio, low", beside, other.from, entries[ratio + 1]);
        mark("ratio, high", beside, other.to, entries[ratio + 2]);
      }
    }
    const drawn = trials < 0 || entries[trials] === "" ? [] : entries[trials].split(", ").filter((shown) => holds(axis, shown));
    if (row.trials.length > 0 && row.trials.length === drawn.length) {
      row.trials.forEach((place, one) => mark(`trial ${one + 1}`, axis, place, drawn[one]));
    } else if (row.trials.length > 0) {
      faults.push(`${name}: ${row.trials.length} trials are drawn, the table has ${drawn.length}`);
    }
    said(figure, row, entries, faults, name);
  });
  return compared;
}

const UNITS = { IOPS: 1, "%": 0.01, us: 1, ms: 1e3, s: 1e6, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9 };

/** The words beside a row, `318 ± 7 IOPS`: within half of the last digit of the half-width. */
function said(figure, row, entries, faults, name) {
  const found = row.said[0]?.match(/^([\d.,]+) ± <?([\d.,]+) (\S+)$/);
  const unit = UNITS[found?.[3]];
  if (!found || unit === undefined || !/\((1\/s|B\/s|us)\)/.test(figure.columns[1] ?? "")) return;
  const [mean, half] = [found[1], found[2]].map((text) => Number(text.replaceAll(",", "")) * unit);
  const digits = found[2].replaceAll(",", "");
  const step = digits.includes(".") ? 10 ** -digits.split(".")[1].length : 10 ** (digits.length - digits.replace(/0+$/, "").length);
  if (Math.abs(mean - Number(entries[1])) > step * unit * 0.501) faults.push(`${name}: says ${row.said[0]}, the table has ${entries[1]}`);
  const [low, high] = [Number(entries[2]), Number(entries[3])];
  const wider = Math.max(high - Number(entries[1]), Number(entries[1]) - low);
  if (Math.abs(half - wider) > step * unit * 1.001) faults.push(`${name}: says ${row.said[0]}, the table has ${low} to ${high}`);
}

/** Percentiles: one line per trial, over 1/(1-p). */
function curves(figure, faults) {
  const percent = figure.columns.map((title) => Number(title.match(/^p([\d.]+) /)?.[1] ?? NaN));
  const [y, x] = [figure.axes.find((axis) => axis.along === "y"), figure.axes.find((axis) => axis.along === "x")];
  let compared = 0;
  figure.numbers.forEach((entries, trial) => percent.forEach((p, column) => {
    if (Number.isNaN(p) || entries[column] === "?") return;
    const beyond = 1 / (1 - p / 100);
    const place = x.range[0] + Math.log(beyond / x.domain[0]) / Math.log(x.domain[1] / x.domain[0]) * (x.range[1] - x.range[0]);
    const point = figure.thin[trial]?.find((point) => Math.abs(point.x - place) <= 0.11);
    if (!point) faults.push(`${figure.name} trial ${trial + 1}: no point at p${p}`);
    else compared += compare(faults, `${figure.name} trial ${trial + 1} p${p}`, y, point, entries[column]);
  }));
  return compared;
}

/** Bars of shares: the width of each part. */
function bars(figure, faults) {
  const [axis] = figure.axes;
  const tops = [...new Set(figure.parts.map((part) => Math.round(part.from.y)))].sort((a, b) => a - b);
  const [from, to] = axis.range;
  for (const part of figure.parts) {
    const column = figure.columns.indexOf(`${part.name.replace("-", " ")} (%)`);
    const shown = Number(figure.numbers[tops.indexOf(Math.round(part.from.y))]?.[column]);
    const drawn = (part.to.x - part.from.x) / (to - from) * axis.domain[1];
    if (!(Math.abs(drawn - shown) <= 0.05)) faults.push(`${figure.name} ${part.name}: ${drawn} % wide, the table has ${shown}`);
  }
  return figure.parts.length;
}

/** Faults of all pictures, and how many marks were compared. */
export function geometry(figures) {
  const faults = [];
  let compared = 0;
  for (const figure of figures) {
    if (figure.name.startsWith("dots-") || figure.name.startsWith("sweep-") || figure.name === "ratios") compared += rows(figure, faults);
    else if (figure.name.startsWith("latency-")) compared += curves(figure, faults);
    else if (figure.name.startsWith("bytes-")) compared += bars(figure, faults);
  }
  return { faults, compared };
}
