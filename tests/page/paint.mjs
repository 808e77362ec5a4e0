// How soon a page is seen and can be used: medians and worst of several openings, in milliseconds since the address was entered.
//
// paint.mjs CHROMIUM PAGE.html [TIMES]
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, file, times = "7"] = process.argv.slice(2);

/** One opening in a fresh profile: the first paint with content, the end of loading, and when the last part answers to a click. */
async function opened(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  const usable = await page.evaluate(() => new Promise((resolve) => {
    const last = [...document.querySelectorAll("summary")].at(-1);
    last.scrollIntoView();
    last.click();
    // The frame after the next one has been drawn with the part unfolded.
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  }));
  // Reported some time after it has happened.
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const seen = await page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    loaded: performance.getEntriesByType("navigation")[0].loadEventEnd,
  }));
  await context.close();
  return { ...seen, usable };
}

const browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid() !== 0 });
const all = [];
for (let time = 0; time < Number(times); time += 1) all.push(await opened(browser));
await browser.close();
for (const name of ["paint", "loaded", "usable"]) {
  const sorted = all.map((one) => one[name]).sort((a, b) => a - b);
  console.log(`${name}: median ${sorted[Math.floor(sorted.length / 2)].toFixed(0)} ms, worst ${sorted.at(-1).toFixed(0)} ms`);
}
