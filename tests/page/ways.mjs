// The ways in which a page is opened, and what is watched while it is open.
const usual = { width: 1280, height: 800 };

export const ways = [
  { name: "light", axe: true, options: { viewport: usual, colorScheme: "light" } },
  { name: "dark", axe: true, options: { viewport: usual, colorScheme: "dark" } },
  { name: "forced colours", options: { viewport: usual, forcedColors: "active" } },
  { name: "390 px", axe: true, options: { viewport: { width: 390, height: 844 } } },
  { name: "1600 px", options: { viewport: { width: 1600, height: 1000 } } },
];
export const without_script = { name: "no script", options: { viewport: usual, javaScriptEnabled: false } };

/** Opens a page. `strict` keeps the page's own policy in force; axe-core can't be loaded then. */
export async function open(browser, address, options, strict = false) {
  const context = await browser.newContext({ ...options, bypassCSP: !strict });
  const page = await context.newPage();
  const requests = [];
  const messages = [];
  page.on("request", (request) => request.url().startsWith("file:") || requests.push(request.url()));
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  await page.goto(address);
  return { page, requests, messages, close: () => context.close() };
}

/** Unfolds all parts of a page. */
export function unfold(page) {
  return page.evaluate(() => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
}
