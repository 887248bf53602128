/**
 * The wings of a package: its folders, and the files beside them that folders import. The README of the package has a table of them, each row with
 * what it holds and which rows it imports:
 *
 *   | wing | holds | imports |
 *   | `values/` | small functions | nothing |
 *   | `task/` `task.ts` | the model | `values/` |
 *   | `use-cases/` | what processes do | everything above |
 *
 * A file that no row names puts the wings together, as index.ts does: it imports any of them, and none imports it.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
const ALL = "everything above";
const HEAD = /\| wing +\| holds +\| imports +\|\n/;

export interface Wing {
  /** `values/` for a folder, `task.ts` for a file. */
  readonly members: readonly string[];
  /** Members of other wings. */
  readonly imports: readonly string[];
}

/** Undefined for a package whose README has no such table. */
export function wingsOf(directory: string): readonly Wing[] | undefined {
  const readme = join(ROOT, directory, "README.md");
  if (!existsSync(readme)) return undefined;
  const [, table] = readFileSync(readme, "utf8").split(HEAD);
  if (table === undefined) return undefined;
  const [rows = ""] = table.split("\n\n");
  const wings: Wing[] = [];
  for (const row of rows.split("\n")) {
    const [, members = "", , imports = ""] = row.split("|");
    if (members.includes("`"))
      wings.push({
        members: namesIn(members),
        imports: imports.includes(ALL) ? wings.flatMap((above) => above.members) : namesIn(imports),
      });
  }
  return wings;
}

function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
}

/** The member that a file of the package is, or lies in: `task/versions.ts` is in `task/`. */
export function memberOf(path: string): string {
  const [first = "", ...rest] = path.split("/");
  return rest.length > 0 ? `${first}/` : first;
}

/** Why a file of the package must not import another one; undefined if it may. Both relative to the package. */
export function objection(wings: readonly Wing[], from: string, to: string): string | undefined {
  const [importer, imported] = [memberOf(from), memberOf(to)];
  const [own, other] = [importer, imported].map((member) => wings.find(({ members }) => members.includes(member)));
  if (own === undefined || own === other) return undefined;
  if (other === undefined) return `${imported} puts the wings together: none of them imports it.`;
  if (own.imports.some((name) => other.members.includes(name))) return undefined;
  return `${importer} does not import ${imported}: the README's table of wings says what it imports.`;
}
