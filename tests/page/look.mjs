// How a page looks. Functions that begin with an underscore run in the page and may use nothing from here.

/** Texts of pictures that overlap another text or reach beyond their picture. */
export function _misplaced() {
  const faults = [];
  for (const svg of document.querySelectorAll("svg.chart")) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    const texts = [...svg.querySelectorAll("text")].map((node) => ({ text: node.textContent, box: node.getBoundingClientRect() }));
    const name = svg.closest("figure")?.id ?? svg.getAttribute("aria-label");
    texts.forEach(({ text, box }, at) => {
      const out = box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
      if (out) faults.push(`${name}: "${text}" reaches beyond the picture`);
      for (const other of texts.slice(at + 1)) {
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (wide > 1 && high > 3) faults.push(`${name}: "${text}" overlaps "${other.text}"`);
      }
    });
  }
  return faults;
}

/** Marks and words of pictures that have the colour of the paper, so that nobody sees them. */
export function _unseen() {
  const paper = getComputedStyle(document.body).backgroundColor;
  const none = (colour) => colour === "none" || colour === "rgba(0, 0, 0, 0)" || colour === paper;
  const faults = [];
  for (const mark of document.querySelectorAll("svg.chart text, svg.chart .mean, svg.chart .trial, svg.chart .interval, svg.chart .cross, svg.chart .thin, svg.chart .course")) {
    const style = getComputedStyle(mark);
    if (style.display !== "none" && none(style.fill) && none(style.stroke)) faults.push(`${mark.closest("figure")?.id}: ${mark.outerHTML.slice(0, 90)}`);
  }
  return faults;
}

/** By how many pixels the page is wider than the window. */
export async function wider(page) {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  return beyond > 0 ? [`${beyond} pixels beyond the window`] : [];
}

/** Printed: it has pages, and no picture or table is cut at the edge of the paper. */
export async function printed(page, path) {
  const pdf = await page.pdf({ path, format: "A4", margin: { top: "1cm", bottom: "1cm", left: "1cm", right: "1cm" } });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  const before = page.viewportSize();
  // A4 without margins, at 96 pixels an inch.
  await page.setViewportSize({ width: 718, height: 1000 });
  await page.emulateMedia({ media: "print" });
  const cut = await page.evaluate(() => [...document.querySelectorAll("svg.chart")]
    .filter((svg) => svg.getBoundingClientRect().right > window.innerWidth + 1)
    .map((svg) => `cut on paper: ${svg.closest("figure")?.id}`));
  await page.emulateMedia({ media: null });
  await page.setViewportSize(before);
  return pages === 0 ? ["the document has no page", ...cut] : cut;
}

/** What axe-core finds. */
export async function axed(page, axe) {
  await page.addScriptTag({ content: axe });
  const found = await page.evaluate(() => globalThis.axe.run());
  return found.violations.flatMap((broken) => broken.nodes.map((node) => `${broken.id}: ${node.html.slice(0, 120)}: ${node.failureSummary.split("\n")[1] ?? ""}`));
}

/** What of the question, the answer, the pictures of the answer and the caveats isn't within the first screen. */
export function _below_the_first_screen() {
  const parts = [["the question", "main h1, main h1 + p"], ["the answer", "ul.answer li"]];
  const faults = [];
  const missing = (name, all) => all.length === 0 && faults.push(`${name}: not on the page`);
  const within = (name, node) => {
    const { bottom, height } = node.getBoundingClientRect();
    if (height === 0 || bottom > window.innerHeight) faults.push(`${name} ends at ${Math.round(bottom)} of ${window.innerHeight} pixels`);
  };
  for (const [name, selector] of parts) {
    const all = [...document.querySelectorAll(selector)];
    missing(name, all);
    all.forEach((node) => within(name, node));
  }
  // The pictures of the answer stand before the first heading.
  const heading = document.querySelector("main h2");
  const leads = (node) => heading === null || node.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_FOLLOWING;
  const pictures = [...document.querySelectorAll("figure svg.chart")].filter(leads);
  missing("a picture", pictures);
  pictures.forEach((svg) => within(`the picture ${svg.closest("figure").id}`, svg));
  document.querySelectorAll("ul.caveats > li").forEach((node) => within("a caveat", node));
  const expected = [...document.querySelectorAll("main h2")].find((node) => node.textContent.startsWith("Expectations"));
  if (expected) within("what was expected", expected);
  return faults;
}
