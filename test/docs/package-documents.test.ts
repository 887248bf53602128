/** What somebody who has a package from npm can read in it, and do. */
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { program } from "../../apps/cli/program.ts";
import { documentsOf } from "../../deploy/release/documents.ts";
import { PUBLISHED, readManifest } from "../../deploy/release/workspaces.ts";

const FENCED = /^ *```(\w*)\n([^]*?)^ *```$/gm;

describe.each(PUBLISHED)("the package of %s", (source) => {
  const documents = documentsOf(source);
  const readme = documents.get("README.md") ?? "";

  test("has a README that says what it is, how it is installed, and where the guides are", async () => {
    const { name } = await readManifest(source);
    const [heading, first = ""] = readme.split("\n\n");
    expect(heading).toBe(`# ${name}`);
    expect(first.length).toBeGreaterThan(40);
    expect(readme).toMatch(name === "create-parley" ? /^npm create parley /m : /^(npm install |`npm install @parley\/cli` brings it\.)/m);
    const guides = documentsOf("apps/cli");
    const named = [...readme.matchAll(/`(docs\/[\w-]+\.md)`/g)].map(([, path = ""]) => path);
    if (source !== "apps/cli") expect(named).not.toEqual([]);
    for (const path of named) expect(guides.has(path), path).toBe(true);
  });

  test("has links only to what it has, and to what is in the network", () => {
    const broken = [...documents].flatMap(([path, text]) =>
      path.endsWith(".md")
        ? [...text.replaceAll(FENCED, "").matchAll(/\]\(([^)\s]+)[^)]*\)/g)].flatMap(([, target = ""]) => {
            const [at = ""] = target.split("#");
            return /^([a-z]+:|#)/.test(target) || documents.has(posix.join(posix.dirname(path), at)) ? [] : [`${path}: ${target}`];
          })
        : [],
    );
    expect(broken).toEqual([]);
  });

  test("names only commands of parley that there are, with options that they have", () => {
    for (const [, language, code = ""] of readme.matchAll(FENCED)) {
      if (language !== "sh") continue;
      for (const [, name, rest = ""] of code.matchAll(/^(?:npx |npm run --silent )?parley (?:-- )?([a-z-]+)([^#\n]*)/gm)) {
        const command = program.commands.find((each) => each.name() === name);
        expect(command, name).toBeDefined();
        // Arguments of a tool are options of its call.
        if (name === "call") continue;
        for (const [option] of rest.matchAll(/--[\w-]+/g)) expect(command?.options.map(({ long }) => long)).toContain(option);
      }
    }
  });
});

test("the command line has every guide, and the tutorial", () => {
  const documents = documentsOf("apps/cli");
  for (const path of ["docs/README.md", "docs/writing-tools.md", "docs/operations.md", "docs/tutorial/01-a-first-tool.test.ts"])
    expect(documents.get(path)?.length, path).toBeGreaterThan(500);
  expect(documents.get("docs/README.md")).toContain("](tutorial/01-a-first-tool.test.ts)");
  expect(documents.get("README.md")).toContain("](docs/writing-tools.md)");
  // Its pictures are not in the package, and code is as it is.
  expect(documents.get("docs/inbox.md")).not.toMatch(/!\[|images\//);
  expect(documents.get("docs/writing-tools.md")).toContain("```ts\n");
  expect(documentsOf("packages/sdk").size).toBe(1);
});
