import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DefinitionError } from "../failures.ts";
import { isModulePath, loadCatalogue } from "./load-catalogue.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-modules-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A module outside of this package, as one that has its own copy of the sdk. */
async function written(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const tool = (name: string) =>
  `export const ${name} = Object.defineProperty({ kind: "tool", name: "${name}" }, Symbol.for("parley.definition"), { value: true });`;

test("modules are loaded by path or by package, and their definitions follow each other", async () => {
  const ship = await written("ship.mjs", tool("ship"));
  const pay = await written("pay.js", tool("pay"));
  const { tools } = await loadCatalogue([`./${relative(process.cwd(), ship)}`, "@parley/gallery", pay]);
  expect([...tools.keys()].slice(0, 1)).toEqual(["ship"]);
  expect([...tools.keys()].slice(-1)).toEqual(["pay"]);
  expect(tools.has("book_dinner")).toBe(true);
});

test.each([
  ["calls", "module.exports = { one: tool('one'), two: tool('two') };", ["one", "two"]],
  ["members of other modules", "const all = { a: tool('a'), b: [tool('b')] }; module.exports = { ...all };", ["a", "b"]],
  ["itself as the default, as compilers write it", "module.exports = { a: tool('a') }; module.exports.default = module.exports;", ["a"]],
  ["one by one", "exports.b = tool('b'); exports.a = tool('a'); exports.size = 3;", ["a", "b"]],
])("a CommonJS module has all of its exports, not only those that Node.js finds by name: %s", async (what, text, names) => {
  const defined = "const tool = (name) => Object.defineProperty({ kind: 'tool', name }, Symbol.for('parley.definition'), { value: true });";
  const path = await written(`${what.replaceAll(/\W/g, "-")}.cjs`, `${defined}\n${text}`);
  expect([...(await loadCatalogue([path])).tools.keys()]).toEqual(names);
});

test("an object that is the default export has its members", async () => {
  const path = await written("object.mjs", `${tool("pay")} ${tool("ship")} export default { ship, limit: 3 };`);
  expect([...(await loadCatalogue([path])).tools.keys()]).toEqual(["ship", "pay"]);
});

test.each(["js", "ts"])("a module of a project that npm made CommonJS says what to set: .%s", async (kind) => {
  await written("package.json", '{ "type": "commonjs" }');
  const path = await written(`esm.${kind}`, `import "node:path";\n${tool("ship")}`);
  // In Node itself: the test runner reads every file as a module.
  const load = `import { loadCatalogue } from ${JSON.stringify(new URL("load-catalogue.ts", import.meta.url).href)};
    await loadCatalogue([${JSON.stringify(path)}]).catch(({ message }) => console.log(message));`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", load], { encoding: "utf8" });
  expect(stdout).toContain(
    'cannot be loaded: it is written as an ES module, and package.json says that its files are CommonJS: set "type": "module" there, or name the file .mts or .mjs',
  );
  await rm(join(folder, "package.json"));
});

test.each<[string, boolean]>([
  ["./tools.ts", true],
  ["../tools/index.mjs", true],
  ["/srv/tools", true],
  ["tools.ts", true],
  ["tools/index.js", true],
  ["tools/index.mjs", true],
  ["tools.cts", true],
  ["@acme/tools", false],
  ["tools", false],
  ["tools.json/of", false],
  ["ts.js.tools", false],
])("%s is a path: %s", (name, isPath) => {
  expect(isModulePath(name)).toBe(isPath);
});

test.each<[string, string, string]>([
  ["an error", "error.mjs", "throw new RangeError('no tools today');"],
  ["a text", "text.mjs", "throw 'no tools today';"],
])("a module that throws %s is refused by name, with the cause", async (_what, name, text) => {
  const path = await written(name, text);
  const refused = await loadCatalogue([path]).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DefinitionError);
  const { message } = refused as DefinitionError;
  // Where an error was thrown, unless vite has loaded the module, as it does for mutation tests.
  expect(message.replace(` (${path}:1)`, "")).toBe(`tool module ${JSON.stringify(path)} cannot be loaded: no tools today`);
  const { cause } = refused as DefinitionError;
  expect(cause instanceof Error ? cause.message : cause).toBe("no tools today");
});

test("a package that is not installed is refused by name", async () => {
  await expect(loadCatalogue(["@acme/no-such-tools"])).rejects.toThrow('tool module "@acme/no-such-tools" cannot be loaded: ');
});

test("a module without definitions is refused by name", async () => {
  const path = await written("empty.mjs", "export const limit = 3;");
  const ship = await written("again.mjs", tool("ship"));
  await expect(loadCatalogue([ship, path])).rejects.toThrow(
    new DefinitionError(
      `tool module ${JSON.stringify(path)} holds no tool, prompt or resource: export what defineTool and its siblings return`,
    ),
  );
});
