import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { AskRequest, Tool } from "@parley/core";
import { requiredCapabilities, SUPPORTED_VERSIONS } from "./index.ts";
import { readInitialize, SESSION_DIALECTS } from "./sessions/index.ts";
import { rev20260728 } from "./stateless/rev-2026-07-28/index.ts";
import { METHODS } from "./sessions/rev-2025-11-25/methods.ts";
import { corpus } from "./corpus.fixture.ts";
import * as keys from "./sessions/names.ts";

const page = readFileSync(new URL("../../docs/dialects.md", import.meta.url), "utf8");

/** The cells of the table with this first heading. */
function table(heading: string): readonly (readonly string[])[] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  const rows = lines.slice(start);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows.slice(0, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const code = (cell: string): string => cell.replaceAll("`", "");
const mark = (served: boolean): string => (served ? "✓" : "–");

function has2026(method: string): boolean {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const decoded = rev20260728.decode({
    headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": "n" },
    body: { jsonrpc: "2.0", id: 1, method, params: { name: "n", uri: "n", taskId: "n", _meta } },
    tool: (): Tool | undefined => undefined,
  });
  return isKnown(decoded);
}

function isKnown(decoded: object): boolean {
  return !("message" in decoded && (decoded.message as { error?: { code: number } }).error?.code === -32601);
}

test("docs/dialects.md has every method, and who has it", () => {
  const [heading, , ...rows] = table("method");
  expect(heading).toStrictEqual(["method", ...SUPPORTED_VERSIONS]);
  for (const [method = "", ...marks] of rows) {
    const request = { jsonrpc: "2.0", id: 1, method: code(method), params: {} };
    const opens = readInitialize(request) !== undefined;
    const served = SESSION_DIALECTS.map((dialect) => opens || isKnown(dialect.decode(request)));
    expect([method, ...marks]).toStrictEqual([method, mark(has2026(code(method))), ...served.map(mark)]);
  }
  const documented = rows.map(([method = ""]) => code(method));
  const spoken = corpus<{ body: { method?: string }; expect: { type: string } }>(
    "./stateless/rev-2026-07-28/corpus/requests",
    import.meta.url,
  )
    .filter(({ expect: expected }) => expected.type === "request")
    .map(({ body }) => body.method);
  expect(documented).toEqual(expect.arrayContaining([...METHODS.keys(), ...spoken, "initialize"]));
  expect(new Set(documented).size).toBe(documented.length);
});

const ASKS: { readonly [question: string]: AskRequest } = {
  form: { type: "form", message: "?", schema: { type: "object" } },
  url: { type: "url", message: "?", url: "https://example.com" },
  sampling: { type: "sampling", params: { messages: [], maxTokens: 1 } },
  "sampling with tools": { type: "sampling", params: { messages: [], maxTokens: 1, tools: [] } },
  roots: { type: "roots" },
};

test("docs/dialects.md says what a client can be asked, by what it declares", () => {
  const [heading, , ...rows] = table("what is asked");
  expect(heading).toStrictEqual(["what is asked", "the client declares", ...SUPPORTED_VERSIONS]);
  expect(new Set(rows.map(([question]) => question))).toStrictEqual(new Set(Object.keys(ASKS)));
  for (const [question = "", declared = "", ...marks] of rows) {
    const request = ASKS[question];
    const opened = readInitialize({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: JSON.parse(code(declared)) as object },
    });
    if (!request || opened?.type !== "initialize") throw new Error(`${question}: ${declared} is not understood`);
    const { capabilities } = opened.initialize;
    const can = [
      requiredCapabilities([request], capabilities) === undefined,
      ...SESSION_DIALECTS.map((dialect) => dialect.canAsk(request, capabilities)),
    ];
    expect([question, declared, ...marks]).toStrictEqual([question, declared, ...can.map(mark)]);
    // A client is not asked what it did not declare.
    expect(SESSION_DIALECTS.map((dialect) => dialect.canAsk(request, {}))).toStrictEqual([false, false, false]);
  }
});

test("docs/dialects.md names every key in _meta", () => {
  const [, , ...rows] = table("key in `_meta`");
  expect(rows.map(([key = ""]) => code(key)).toSorted()).toStrictEqual(Object.values(keys).toSorted());
});
