// Opens reports in Chromium and checks what only a browser knows (docs/report.md lists it).
//
// check.mjs CHROMIUM FOLDER [FOLDER for screenshots]
//
// FOLDER has NAME.html and NAME.json (`report` and `export --json` of one run) for each run, demo.html and demo.json among them, and site/
// (`report --all`).
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { _said, cells, plots, sentences } from "./figures.mjs";
import { _drawn, geometry } from "./geometry.mjs";
import { arrows, keyboard } from "./keyboard.mjs";
import { _latencies, latencies } from "./latencies.mjs";
import { _below_the_first_screen, _misplaced, _unseen, axed, printed, wider } from "./look.mjs";
import { check, end } from "./tally.mjs";
import { open, unfold, ways, without_script } from "./ways.mjs";

const [executablePath, folder, pictures] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const address = (file) => pathToFileURL(join(folder, file)).href;
const picture = (name) => (pictures ? join(pictures, `${name.replaceAll(/[ /]/g, "-")}.png`) : undefined);

/** What holds for every page, in these ways of looking at it. `close` asks for what takes longer, too. */
async function look_at(browser, name, file, ways, close) {
  for (const way of ways) {
    const { page, requests, messages, close: done } = await open(browser, address(file), way.options);
    const said = (what) => `${name}, ${way.name}: ${what}`;
    if (pictures) await page.screenshot({ path: picture(`${name}-${way.name}-first`) });
    await unfold(page);
    check(said("nothing is wider than the window"), await wider(page));
    check(said("texts of pictures have room"), await page.evaluate(_misplaced));
    check(said("nothing has the colour of the paper"), await page.evaluate(_unseen));
    if (way.axe) check(said("axe-core"), await axed(page, axe));
    if (way.name === "390 px") check(said("arrow keys move what is wide"), await arrows(page));
    if (way.name === "light" && close) {
      check(said("print"), await printed(page, pictures && join(pictures, `${name}.pdf`)));
      check(said("a keyboard reaches everything"), await keyboard(page));
    }
    if (pictures && close) await page.screenshot({ path: picture(`${name}-${way.name}`), fullPage: true });
    check(said("nothing is requested"), requests);
    check(said("the console is empty"), messages);
    await done();
  }
}

/** The page with its own policy in force, and without scripts: it must not complain, and say and draw the same. */
async function bare(browser, name, file) {
  const strict = await open(browser, address(file), ways[0].options, true);
  const whole = await strict.page.evaluate(_said);
  const drawn = await strict.page.evaluate(() => document.querySelectorAll("svg.chart *").length);
  check(`${name}: its own policy lets all of it through`, [...strict.messages, ...strict.requests]);
  const styled = await strict.page.evaluate(() => getComputedStyle(document.body).margin);
  check(`${name}: its style sheet is applied`, styled === "0px" ? [] : [`the body's margin is ${styled}`]);
  await strict.close();
  const { page, requests, messages, close } = await open(browser, address(file), without_script.options, true);
  check(`${name}, no script: nothing is requested or logged`, [...requests, ...messages]);
  const left = await page.evaluate(_said);
  check(`${name}, no script: the same sentences and numbers`, left.text.trim() === whole.text.trim() ? [] : ["they differ"]);
  const pictures_left = await page.evaluate(() => document.querySelectorAll("svg.chart *").length);
  check(`${name}, no script: the same pictures`, pictures_left >= drawn ? [] : [`${pictures_left} of ${drawn} elements`]);
  await close();
}

/** The series enlarged by keyboard, as a reader without a mouse does it. */
async function enlarged(browser, name, file) {
  const { page, requests, messages, close } = await open(browser, address(file), ways[0].options, true);
  await unfold(page);
  const tracks = await page.evaluate(() =>
    Object.entries(JSON.parse(document.getElementById("courses")?.textContent ?? "{}")).map(([id, course]) => [id, course.tracks.length]));
  const said = (what) => `${name}, enlarged: ${what}`;
  if (tracks.length > 0) {
    const [id, count] = tracks[0];
    const figure = page.locator(`figure#${id}`);
    const buttons = await page.getByRole("button", { name: "Enlarge" }).count();
    check(said("each course can be"), buttons === tracks.length ? [] : [`${buttons} buttons for ${tracks.length} courses`]);
    await figure.getByRole("button", { name: "Enlarge" }).focus();
    await page.keyboard.press("Enter");
    await figure.locator("canvas").nth(count - 1).waitFor({ timeout: 5000 }).catch(() => {});
    const canvases = await figure.locator("canvas").count();
    check(said("a plot for each track"), canvases === count ? [] : [`${canvases} plots of ${count} tracks`]);
    await figure.getByRole("combobox").selectOption({ index: 1 });
    if (pictures) await figure.screenshot({ path: picture(`${name}-enlarged`) });
    await figure.getByRole("button", { name: "Close" }).click();
    check(said("it closes"), (await figure.locator("canvas").count()) === 0 ? [] : ["plots are left"]);
  }
  check(said("nothing is requested or logged"), [...requests, ...messages]);
  await close();
  return tracks.length;
}

/** The figures of a run's page: those of the export, and drawn where they belong. */
async function figures(browser, name, file, run) {
  const { page, close } = await open(browser, address(file), ways[0].options);
  await unfold(page);
  const said = await page.evaluate(_said);
  check(`${name}: figures of cells are those of the export`, cells(said, run));
  check(`${name}: figures of dot plots are those of the export`, plots(said, run));
  check(`${name}: sentences are those of the export`, sentences(said, run));
  const { faults, compared } = geometry(await page.evaluate(_drawn));
  check(`${name}: marks stand where their numbers say`, compared > 0 ? faults : ["nothing was compared"]);
  const over_time = latencies(await page.evaluate(_latencies));
  check(`${name}: latencies over time are where their numbers say`, over_time.faults);
  await close();
  return { marks: compared, over_time: over_time.compared };
}

const browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid() !== 0 });
try {
  let marks = 0;
  let over_time = 0;
  let enlargeable = 0;
  const runs = readdirSync(folder).filter((file) => file.endsWith(".html")).map((file) => file.slice(0, -5));
  for (const name of runs) {
    const file = `${name}.html`;
    const compared = await figures(browser, name, file, JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")));
    marks += compared.marks;
    over_time += compared.over_time;
    await bare(browser, name, file);
    await look_at(browser, name, file, ways, true);
    enlargeable += await enlarged(browser, name, file);
  }
  check("courses of some run can be enlarged", enlargeable > 0 ? [] : ["no page has any"]);
  check("some run has latencies over time", over_time > 0 ? [] : ["no page has any"]);
  const demo = await open(browser, address("demo.html"), ways[0].options);
  check("demo: the first screen has question, answer, pictures and caveats", await demo.page.evaluate(_below_the_first_screen));
  await demo.close();
  for (const file of existsSync(join(folder, "site")) ? readdirSync(join(folder, "site")) : []) {
    await bare(browser, `site ${file}`, `site/${file}`);
    // The pages of runs are those above, with links.
    const some = ways.filter((way) => way.name === "light" || way.name === "390 px");
    if (!readFileSync(join(folder, "site", file), "utf8").includes('class="cell"')) await look_at(browser, `site ${file}`, `site/${file}`, some, true);
  }
  // A run of very many cells: an overview, and pages with some of the cells each.
  const same = JSON.parse(readFileSync(join(folder, "same.json"), "utf8"));
  let in_folder = 0;
  for (const file of readdirSync(join(folder, "folder")).filter((file) => file.endsWith(".html"))) {
    const name = `folder ${file}`;
    const { page, close } = await open(browser, address(`folder/${file}`), ways[0].options);
    await unfold(page);
    const said = await page.evaluate(_said);
    const shown = same.cells.filter((cell) => said.cells[cell.id]);
    in_folder += shown.length;
    check(`${name}: figures of cells are those of the export`, cells(said, { cells: shown }));
    await close();
    await bare(browser, name, `folder/${file}`);
    await look_at(browser, name, `folder/${file}`, ways.slice(0, 1), false);
  }
  check("folder: each cell is on one page", in_folder === same.cells.length ? [] : [`${in_folder} of ${same.cells.length}`]);
  console.log(`${marks} marks and ${over_time} latencies over time of ${runs.length} runs stand where the numbers say`);
} finally {
  await browser.close();
}
process.exit(end() ? 0 : 1);
