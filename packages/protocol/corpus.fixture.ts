/** Corpora: each case is one JSON file, which gives its reason in `why`. */
import { readdirSync, readFileSync } from "node:fs";

/** Reads the cases of a folder beside the given module. */
export function corpus<Case>(folder: string, base: string | URL): readonly ({ readonly file: string; readonly why: string } & Case)[] {
  const url = new URL(`${folder}/`, base);
  return readdirSync(url)
    .filter((file) => file.endsWith(".json"))
    .map((file) => ({ file, ...(JSON.parse(readFileSync(new URL(file, url), "utf8")) as Case & { why: string }) }));
}
