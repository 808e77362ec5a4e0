// Opens a report in Chromium and checks what only a browser knows: that nothing is requested or logged, that no text overlaps another or is
// cut off, that it works without JavaScript, in the dark, in forced colours, on a small screen and on paper, and that the figures are those
// of the JSON export.
//
// check.mjs CHROMIUM PAGE.html EXPORT.json [FOLDER for screenshots]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, page_file, export_file, pictures] = process.argv.slice(2);
const address = pathToFileURL(page_file).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const run = JSON.parse(readFileSync(export_file, "utf8"));
const ways = [
  { name: "light", options: { viewport: { width: 1280, height: 800 } } },
  { name: "dark", options: { viewport: { width: 1280, height: 800 }, colorScheme: "dark" } },
  { name: "forced", options: { viewport: { width: 1280, height: 800 }, forcedColors: "active" } },
  { name: "small", options: { viewport: { width: 390, height: 844 } } },
  { name: "wide", options: { viewport: { width: 1600, height: 1000 } } },
  { name: "no-script", options: { viewport: { width: 1280, height: 800 }, javaScriptEnabled: false } },
];
let failed = 0;
let passed = 0;

function check(name, faults) {
  if (faults.length === 0) {
    passed += 1;
    return;
  }
  failed += 1;
  console.log(`FAILED ${name}`);
  faults.slice(0, 10).forEach((fault) => console.log(`    ${fault}`));
}

// Texts of a picture that overlap another text, or reach beyond the picture.
function misplaced() {
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

// The figures of each cell as the page has them: cell -> metric -> [estimate, low, high].
function figures() {
  const all = {};
  for (const cell of document.querySelectorAll("details.cell")) {
    const own = {};
    for (const row of cell.querySelectorAll("tr")) {
      const words = [...row.querySelectorAll("td")].map((entry) => entry.textContent);
      if (words.length === 6) own[words[0]] = words.slice(1, 4);
    }
    all[cell.id.replace("cell-", "")] = own;
  }
  return all;
}

// Whether it is a page of a folder, which has some of the cells, or the overview, which has none.
function partial() {
  return document.querySelector('nav a[href="index.html"], a[href^="cells-"]') !== null;
}

function differing(shown, part) {
  const faults = [];
  const same = (text, value) => (value === null ? text === "?" : Math.abs(Number(text) - value) <= 1e-5 * Math.abs(value));
  for (const cell of run.cells) {
    if (part && !shown[cell.id]) continue;
    for (const [name, metric] of Object.entries(cell.metrics)) {
      const found = shown[cell.id]?.[name];
      const values = [metric.estimate, metric.low, metric.high];
      if (!found || !values.every((value, at) => same(found[at], value))) {
        faults.push(`${cell.id} ${name}: the page has ${found}, the export ${values}`);
      }
    }
  }
  return faults;
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const { name, options } of ways) {
  // Only so can axe-core be loaded: the page itself allows no script.
  const context = await browser.newContext({ ...options, bypassCSP: true });
  const page = await context.newPage();
  const requests = [];
  const messages = [];
  page.on("request", (request) => request.url().startsWith("file:") || requests.push(request.url()));
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  await page.goto(address);
  check(`${name}: requests`, requests);
  check(`${name}: console`, messages);
  if (pictures) await page.screenshot({ path: `${pictures}/${name}-first.png` });
  if (name === "no-script") {
    check(`${name}: nothing waits for a script`, (await page.locator("button").count()) === 0 ? [] : ["a button without a script"]);
    check(`${name}: the heading is there`, (await page.locator("h1").count()) === 1 ? [] : ["no heading"]);
    await context.close();
    continue;
  }
  await page.evaluate(() => document.querySelectorAll("details.cell").forEach((part) => { part.open = true; }));
  check(`${name}: texts of pictures`, await page.evaluate(misplaced));
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  check(`${name}: nothing is wider than the window`, beyond > 0 ? [`${beyond} pixels beyond`] : []);
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  if (name === "light") {
    check("figures are those of the export", differing(await page.evaluate(figures), await page.evaluate(partial)));
    const bare = "svg:not([aria-label]), .scroll:not([tabindex]), pre:not([tabindex])";
    check("pictures have names, and what scrolls can be reached by keyboard", await page.locator(bare).evaluateAll((all) => all.map((one) => one.outerHTML.slice(0, 80))));
    const pdf = await page.pdf({ path: pictures ? `${pictures}/page.pdf` : undefined });
    check("print", pdf.length > 1000 ? [] : ["an empty document"]);
  }
  if (name !== "forced") {
    await page.addScriptTag({ content: axe });
    const found = await page.evaluate(() => globalThis.axe.run());
    check(`${name}: axe-core`, found.violations.flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.html.slice(0, 120)}: ${node.failureSummary.split("\n")[1] ?? ""}`)));
  }
  await context.close();
}
// With its own policy in force, the page must not complain either.
const strict = await (await browser.newContext()).newPage();
const complaints = [];
strict.on("console", (message) => complaints.push(message.text()));
await strict.goto(address);
check("the page keeps its own policy", complaints);
const courses = await strict.evaluate(() => Object.keys(JSON.parse(document.getElementById("courses")?.textContent ?? "{}")));
if (courses.length > 0) {
  await strict.evaluate(() => document.querySelectorAll("details.cell").forEach((part) => { part.open = true; }));
  const figure = strict.locator(`figure#${courses[0]}`);
  const tracks = await strict.evaluate((id) => JSON.parse(document.getElementById("courses").textContent)[id].tracks.length, courses[0]);
  const buttons = await strict.getByRole("button", { name: "Enlarge" }).count();
  check("each course can be enlarged", buttons === courses.length ? [] : [`${buttons} buttons for ${courses.length} courses`]);
  // By keyboard, as a reader without a mouse does it.
  await figure.getByRole("button", { name: "Enlarge" }).focus();
  await strict.keyboard.press("Enter");
  await figure.locator("canvas").nth(tracks - 1).waitFor({ timeout: 5000 }).catch(() => {});
  const canvases = await figure.locator("canvas").count();
  check("a plot for each track", canvases === tracks ? [] : [`${canvases} plots of ${tracks} tracks`]);
  await figure.getByRole("combobox").selectOption({ index: 1 });
  if (pictures) await figure.screenshot({ path: `${pictures}/enlarged.png` });
  await figure.getByRole("button", { name: "Close" }).click();
  check("it closes", (await figure.locator("canvas").count()) === 0 ? [] : ["plots are left"]);
  check("enlarging says nothing", complaints);
}
check("its style sheet is applied", (await strict.evaluate(() => getComputedStyle(document.body).margin)) === "0px" ? [] : ["it is not"]);
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
