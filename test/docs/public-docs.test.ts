/** Every public export of the packages for authors has a docstring, which authors see in their editor. */
import { readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);

function parsed(path: string) {
  const text = readFileSync(new URL(path, ROOT), "utf8");
  const { module, program, comments } = parseSync(path, text);
  return { text, module, program, comments };
}

function resolved(from: string, request: string): string {
  if (request.startsWith(".")) return new URL(request, new URL(from, ROOT)).pathname.slice(ROOT.pathname.length);
  return `${request.replace("@parley/", "packages/")}/index.ts`;
}

interface Exported {
  readonly name: string;
  readonly file: string;
  readonly hasDocstring: boolean;
}

const known = new Map<string, readonly Exported[]>();

/** What a module exports, at the place where it is declared. Read once, because many modules export what is in core's index. */
function exportsOf(file: string): readonly Exported[] {
  const found = known.get(file) ?? readExports(file);
  known.set(file, found);
  return found;
}

function readExports(file: string): readonly Exported[] {
  const { text, module, program, comments } = parsed(file);
  const docstrings = comments.filter(({ type, value }) => type === "Block" && value.startsWith("*"));
  const isDocumented = (start: number) => docstrings.some(({ end }) => end <= start && text.slice(end, start).trim() === "");
  return module.staticExports.flatMap(({ start, entries }) =>
    entries.flatMap(({ exportName, importName, moduleRequest }) => {
      if (!moduleRequest) {
        const name = exportName.name ?? "default";
        // Of overloads the first one has it.
        const first = program.body.find((node) => `${text.slice(node.start, node.end)} `.match(declarationOf(name)))?.start ?? start;
        return [{ name, file, hasDocstring: isDocumented(first) }];
      }
      const target = exportsOf(resolved(file, moduleRequest.value));
      if (importName.kind !== "Name") return target;
      const found = target.filter(({ name }) => name === importName.name);
      return found.map((each) => ({ ...each, name: exportName.name ?? each.name }));
    }),
  );
}

function declarationOf(name: string): RegExp {
  return new RegExp(
    `^export (?:default )?(?:declare )?(?:async )?(?:abstract )?(?:function\\*?|const|class|interface|type|enum) ${name}\\b`,
  );
}

const ENTRIES = [
  "packages/sdk/index.ts",
  "packages/sdk/testing/testing.ts",
  "packages/sdk/replay/index.ts",
  "packages/protocol/testing/index.ts",
];

test.each(ENTRIES)("every export of %s has a docstring", (entry) => {
  const exported = exportsOf(entry);
  expect(exported.length).toBeGreaterThan(2);
  const bare = exported.filter(({ hasDocstring }) => !hasDocstring).map(({ name, file }) => `${name} in ${file}`);
  expect([...new Set(bare)]).toEqual([]);
});
