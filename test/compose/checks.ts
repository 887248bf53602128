/** Prints what was checked, line by line. */

let failed = 0;
export const failures = () => failed;

export function check(what: string, holds: boolean, detail: unknown = ""): void {
  console.log(`${holds ? "✓" : "✗"} ${what}${detail === "" ? "" : `  ${JSON.stringify(detail)}`}`);
  if (!holds) failed += 1;
}
