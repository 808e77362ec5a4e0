// Counts checks as cargo counts tests, so that scripts/test.sh adds them to its own.
let passed = 0;
let failed = 0;

/** Counts a check; each of its faults is a line. */
export function check(name, faults) {
  if (faults.length === 0) {
    passed += 1;
    return;
  }
  failed += 1;
  console.log(`test page::${name} ... FAILED`);
  faults.slice(0, 10).forEach((fault) => console.log(`    ${fault}`));
  if (faults.length > 10) console.log(`    and ${faults.length - 10} more`);
}

/** Prints the counts; true if nothing failed. */
export function end() {
  console.log(`test result: ${failed === 0 ? "ok" : "FAILED"}. ${passed} passed; ${failed} failed; finished in ${performance.now().toFixed(0) / 1000}s`);
  return failed === 0;
}
