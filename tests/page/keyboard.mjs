// What a keyboard reaches: every part that unfolds or scrolls, and behind them the number of every mark of every picture.

/** Presses Tab through the whole page and unfolds what is folded. Returns what was not reached. */
export async function keyboard(page) {
  await page.evaluate(() => {
    document.querySelectorAll("details").forEach((part) => { part.open = false; });
    document.activeElement?.blur();
    globalThis.reached = new Set();
    globalThis.unmarked = [];
  });
  const most = await page.evaluate(() => document.querySelectorAll("a[href], summary, button, input, select, [tabindex]").length) + 5;
  for (let pressed = 0; pressed < most; pressed += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body || node === null || globalThis.reached.has(node)) return "end";
      globalThis.reached.add(node);
      const style = getComputedStyle(node);
      if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) globalThis.unmarked.push(node.outerHTML.slice(0, 80));
      return node.tagName === "SUMMARY" && !node.parentElement.open ? "folded" : "open";
    });
    if (at === "end") break;
    if (at === "folded") await page.keyboard.press("Enter");
  }
  return page.evaluate(() => {
    const faults = globalThis.unmarked.map((node) => `focus isn't seen: ${node}`);
    for (const node of document.querySelectorAll("a[href], summary, button, input, select, [tabindex='0'], .scroll, pre")) {
      const box = node.getBoundingClientRect();
      if (box.width > 0 && !globalThis.reached.has(node)) faults.push(`not reached: ${node.outerHTML.slice(0, 80)}`);
    }
    document.querySelectorAll("details:not([open])").forEach((part) => faults.push(`not unfolded: ${part.textContent.slice(0, 60)}`));
    return faults;
  });
}

/** Whether the arrow keys move what is wider than the window, once it has the focus. */
export async function arrows(page) {
  const wide = await page.evaluateHandle(() => [...document.querySelectorAll(".scroll")].find((node) => node.scrollWidth > node.clientWidth + 20 && node.clientWidth > 0) ?? null);
  const element = wide.asElement();
  if (element === null) return [];
  await element.focus();
  await page.keyboard.press("ArrowRight");
  const moved = await page.waitForFunction((node) => node.scrollLeft > 0, element, { timeout: 2000 }).then(() => true, () => false);
  return moved ? [] : ["the arrow keys don't move a wide picture"];
}
