/** When the person last did something on this page, by `performance.now()`. Speech and pasting from a menu come without a key. */
let atMs = 0;
for (const each of ["keydown", "pointerdown", "wheel", "input"])
  document.addEventListener(each, () => (atMs = performance.now()), { capture: true, passive: true });

export function touchedSince(sinceMs: number): boolean {
  return atMs > sinceMs;
}
