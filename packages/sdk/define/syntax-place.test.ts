import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { syntaxPlace } from "./syntax-place.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley syntax "));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const placeIn = (path: string, message: string) => syntaxPlace(pathToFileURL(path).href, new SyntaxError(message));

test.each<[string, string, string, string]>([
  ["a syntax error", "broken.mjs", 'throw new Error("not run");\nexport const b = (;', "Unexpected token ';'"],
  ["a decorator", "decorated.ts", "const tool = (given: object) => given;\n@tool class A {}", "Invalid or unexpected token"],
])("%s is found in the module, and in a file that it imports", async (_what, name, text, message) => {
  const broken = await written(name, text);
  const importing = await written("index.ts", `import "node:fs";\nexport * from "./${name}";`);
  expect([await placeIn(broken, message), await placeIn(importing, message)]).toEqual([`${broken}:2`, `${broken}:2`]);
});

test("an error that compiling does not repeat has no place", async () => {
  const fine = await written("fine.mjs", "export default 1;");
  const broken = await written("other.mjs", "export default (;");
  expect(await placeIn(fine, "Unexpected token ';'")).toBeUndefined();
  expect(await placeIn(broken, "another error")).toBeUndefined();
  expect(await placeIn(join(folder, "missing.mjs"), "Unexpected token ';'")).toBeUndefined();
});
