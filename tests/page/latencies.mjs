// Turns the drawn latencies over time back into values by the numbers at their own axis, and compares these with the table of the rounds.

/** Runs in the page: the tracks of latencies of each cell, with the text of their axis, and the table below. */
export function _latencies() {
  /** The parts of a path, each with its corners. */
  const parts_of = (data) => {
    const parts = [];
    let [x, y, step] = [0, 0, "M"];
    const tokens = data.match(/[A-Za-z]|-?\d+(?:\.\d+)?/g) ?? [];
    for (let at = 0; at < tokens.length;) {
      if (/[A-Za-z]/.test(tokens[at])) step = tokens[at++];
      const next = () => Number(tokens[at++]);
      if (step === "M") [x, y] = [next(), next()];
      else if (step === "m" || step === "l") [x, y] = [x + next(), y + next()];
      else if (step === "h") x += next();
      else if (step === "v") y += next();
      else if (step === "z") { ({ x, y } = parts.at(-1)[0]); continue; }
      else throw new Error(`a path has the step ${step}`);
      if (step === "M" || step === "m") parts.push([]);
      parts.at(-1).push({ x, y });
    }
    return parts;
  };
  const found = [];
  for (const figure of document.querySelectorAll("figure[id^=rounds-]")) {
    const svg = figure.querySelector("svg.chart");
    const panel = svg.querySelector("path.panel");
    const [wide, gap] = panel.getAttribute("stroke-dasharray").split(" ").map(Number);
    const left = parts_of(panel.getAttribute("d"))[0][0].x;
    const tracks = [];
    for (const node of svg.children) {
      if (node.matches("text.unit")) tracks.push({ title: node.textContent, lines: [] });
      else if (node.matches("path.grid")) tracks.at(-1).levels = parts_of(node.getAttribute("d")).map(([begin]) => begin.y);
      else if (node.matches("g.tick") && tracks.length > 0) tracks.at(-1).ticks = [...node.querySelectorAll("text")].map((text) => text.textContent);
      else if (node.matches("path.track")) tracks.at(-1).lines.push(parts_of(node.getAttribute("d")));
    }
    const table = figure.querySelector("table.numbers");
    const columns = [...table.querySelectorAll("th")].map((node) => node.textContent);
    const rows = [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((node) => node.textContent));
    found.push({ name: figure.id, left, wide, gap, tracks, columns, rows });
  }
  return found;
}

const UNITS = { us: 1, ms: 1e3, s: 1e6 };

/** Faults, and how many lines of rounds were compared. A band is drawn in whole pixels. */
export function latencies(figures) {
  const faults = [];
  let compared = 0;
  for (const { name, left, wide, gap, tracks, columns, rows } of figures) {
    const in_panel = (parts, place) => parts.filter(([begin]) => Math.floor((begin.x - left) / (wide + gap)) === place);
    const extent = (parts) => [Math.min(...parts.flat().map((corner) => corner.x)), Math.max(...parts.flat().map((corner) => corner.x))].join(" ");
    const counts = tracks.find((track) => track.title.startsWith("I/Os per second"));
    for (const track of tracks) {
      const [, kind, unit] = track.title.match(/^latency of (\w+): p50 \(solid\), p99 \(dashed\), (\w+)$/) ?? [];
      if (!kind) continue;
      const [low, high] = track.ticks.map((text) => Number(text.replaceAll(",", "")) * UNITS[unit]);
      const [bottom, top] = track.levels;
      const value = (y) => low + (bottom - y) / (bottom - top) * (high - low);
      const slack = 0.51 / (bottom - top) * (high - low);
      ["p50", "p99"].forEach((line, at) => rows.forEach((row, place) => {
        const column = columns.indexOf(`${line} of ${kind} (us): lowest`);
        const what = `${name} ${line} of ${kind}, round ${row[0]}`;
        const parts = in_panel(track.lines[at] ?? [], place);
        if (column < 0) faults.push(`${what}: the table has no column`);
        else if (parts.length === 0) { if (line === "p50" && row[column] !== "?") faults.push(`${what}: isn't drawn`); }
        else {
          const places = parts.flat().map((corner) => value(corner.y));
          const [lowest, highest] = [Number(row[column]), Number(row[column + 1])];
          const [from, to] = [Math.min(...places), Math.max(...places)];
          // A bin with a gap is not drawn, whatever else is in it: without any gap both ends are those of the table.
          const whole = parts.length === 1 && counts && extent(parts) === extent(in_panel(counts.lines[0], place));
          const inside = from >= lowest - slack && to <= highest + slack;
          const same = Math.abs(from - lowest) <= slack && Math.abs(to - highest) <= slack;
          if (!(whole ? same : inside)) faults.push(`${what}: drawn from ${from} to ${to}, the table has ${lowest} to ${highest}`);
          compared += 1;
        }
      }));
    }
  }
  return { faults, compared };
}
