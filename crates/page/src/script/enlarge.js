// Enlarges the courses of a cell: a button below the picture's caption shows them as plots in which the pointer reads values and selects a
// part of the time. The page is complete without this script.
(() => {
  const island = document.getElementById("courses");
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const shown = (value) => (value === null || value === undefined ? "?" : Number(value.toPrecision(4)).toLocaleString("en-US"));

  // All rounds one after the other, with a gap of a tenth of a trial between two of them.
  function times(cell) {
    const length = cell.end - cell.begin;
    const step = length / cell.bins;
    const all = [];
    cell.rounds.forEach((_, place) => {
      for (let bin = 0; bin < cell.bins; bin += 1) all.push(place * length * 1.1 + (bin + 0.5) * step);
      all.push((place + 1) * length * 1.1 - length * 0.05);
    });
    return all;
  }

  // A value of each bin; nothing between two rounds.
  const joined = (rounds) => rounds.flatMap((values) => [...values, null]);

  function plot(cell, track, place, key) {
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
    const length = (cell.end - cell.begin) * 1.1;
    const inside = (x) => cell.begin + (x - Math.floor(x / length) * length);
    const round = (x) => cell.rounds[Math.min(Math.floor(x / length), cell.rounds.length - 1)];
    const data = [times(cell)];
    const series = [{ label: "time", value: (_, x) => (x === null ? "?" : `round ${round(x)}, ${inside(x).toFixed(2)} s`) }];
    const bands = [];
    track.lines.forEach((line, at) => {
      const stroke = colour(at === 0 ? "--accent" : "--other");
      const fill = `color-mix(in srgb, ${stroke} 30%, transparent)`;
      const one = (label, values) => {
        data.push(joined(values));
        series.push({ label, stroke, width: 1, points: { show: false }, value: (_, value) => shown(value) });
      };
      one(line.low ? `${line.name}: highest` : line.name, line.high);
      if (line.low) {
        one("lowest", line.low);
        bands.push({ series: [series.length - 2, series.length - 1], fill });
      }
    });
    const options = {
      width: Math.max(280, place.clientWidth - 4),
      height: 150,
      series,
      bands,
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), ((high ?? 1) || 1) * 1.08] } },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((x) => `${round(x)}: ${Number(inside(x).toFixed(1)) + 0} s`), space: 80 }, { ...axis, size: 70, values: (_, ticks) => ticks.map((value) => value.toLocaleString("en-US", { notation: "compact" })) }],
      cursor: { sync: { key }, drag: { x: true, y: false } },
    };
    return new uPlot(options, data, place);
  }

  function enlarged(id, cell) {
    const all = document.createElement("div");
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", "Round to show");
    ["all rounds", ...cell.rounds.map((round) => `round ${round}`)].forEach((text) => choice.add(new Option(text)));
    const hint = document.createElement("p");
    hint.textContent = "Drag over a plot to show a part of the time; double-click to show all of it. The time on the axis begins with the round. ";
    hint.append(choice);
    all.append(hint);
    // A plot takes its width from the page.
    requestAnimationFrame(() => {
      const plots = cell.tracks.map((track) => {
        const part = document.createElement("div");
        const title = document.createElement("p");
        title.textContent = track.unit === "us" ? `${track.title}, µs` : track.title;
        part.append(title);
        all.append(part);
        return plot(cell, track, part, id);
      });
      choice.addEventListener("change", () => {
        const length = (cell.end - cell.begin) * 1.1;
        const from = (choice.selectedIndex - 1) * length;
        const range = choice.selectedIndex === 0 ? { min: 0, max: cell.rounds.length * length } : { min: from, max: from + length };
        plots.forEach((one) => one.setScale("x", range));
      });
    });
    return all;
  }

  for (const [id, cell] of Object.entries(JSON.parse(island.textContent))) {
    const caption = document.getElementById(id)?.querySelector("figcaption");
    if (!caption) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Enlarge";
    button.setAttribute("aria-expanded", "false");
    let open = null;
    button.addEventListener("click", () => {
      if (open) open.remove();
      open = open ? null : enlarged(id, cell);
      if (open) button.after(open);
      button.textContent = open ? "Close" : "Enlarge";
      button.setAttribute("aria-expanded", String(open !== null));
    });
    caption.after(button);
  }
})();
