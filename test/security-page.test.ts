/** docs/security.md names existing tests and existing settings. */
import { readFileSync } from "node:fs";
import { SERVER_SETTINGS } from "@parley/server";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../docs/security.md", import.meta.url), "utf8");
const rows = [...page.matchAll(/^\| (.+) \| \[test\]\((\S+) "(.+)"\) \|$/gm)].map(([, rule = "", file = "", title = ""]) => ({
  rule,
  file,
  title,
}));

test.each(rows)("a test holds this rule: $rule", ({ file, title }) => {
  expect(readFileSync(new URL(`../docs/${file}`, import.meta.url), "utf8")).toContain(`"${title}"`);
});

test("every row of the rules is one that was looked up, and every setting is one", () => {
  const section = page.slice(page.indexOf("## Each rule"));
  expect(rows).toHaveLength(section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| rule")).length);
  const settings = new Set(
    Object.keys(SERVER_SETTINGS.shape)
      .flatMap((name) => [name, `${name}_FILE`])
      .concat("PARLEY_TOKEN", "PARLEY_TOKEN_FILE"),
  );
  for (const [name] of page.matchAll(/PARLEY_[A-Z_]+/g)) expect([...settings]).toContain(name);
});
