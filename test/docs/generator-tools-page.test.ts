/** docs/generator-tools.md: each row of its tables, in every dialect, and each of its snippets. */
import { readFileSync } from "node:fs";
import type { FeedItem, Json, JsonObject } from "@parley/core";
import { ElicitRequestFormParamsSchema } from "@modelcontextprotocol/sdk/types.js";
import { SESSION_DIALECTS } from "@parley/protocol/sessions";
import { decline, runTool, startTool, timeout } from "@parley/sdk/testing";
import { describe, expect, test } from "vitest";
import { answeredEverywhere, putEverywhere, telling } from "./encode.ts";
import { approvalsOf, bookTable, greet, held, opinionsOf, patient, pay, planned, typed } from "./generator-tools.ts";

const page = readFileSync(new URL("../../docs/generator-tools.md", import.meta.url), "utf8");

/** Rows of the table whose first column has that heading. */
function table(heading: string): readonly (readonly string[])[] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  const rows = lines.slice(start + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith("|")),
    )
    .map((row) => row.slice(2, -2).split(" | "));
}

/** What stands in a cell as code; undefined for `undefined`, and for a dash. */
function json(cell: string): Json | undefined {
  const [, text = "undefined"] = /^`(.*)`$/.exec(cell) ?? [];
  return text === "undefined" ? undefined : (JSON.parse(text) as Json);
}

const ASKS = table("yielded, with a `message`");

test("the page has a row for each kind of ask, and for each emit", () => {
  const kinds = new Set(ASKS.map(([yielded = ""]) => (json(yielded) as { ask: string }).ask));
  expect([...kinds].toSorted()).toEqual(["confirm", "date", "form", "number", "select", "text"]);
  const emits = new Set(table("emitted").map(([emitted = ""]) => (json(emitted) as { emit?: string }).emit));
  expect([...emits]).toEqual(["status", "progress", "log", "stream", undefined, "toast", "thinking", "artifact", "qr"]);
});

describe.each(ASKS.map((row) => [row[0] ?? "", row] as const))(
  "%s",
  (_, [yielded = "", newer = "", older = "", answer = "", value = ""]) => {
    const asked = { ...(json(yielded) as JsonObject), message: "?" };
    const [sent = "", sentBefore] = answer.replace(/\)$/, "").split(" (");

    test("is asked of clients of every revision as the page says", async () => {
      const puts = await putEverywhere(asked);
      expect(puts.map(({ version }) => version)).toEqual(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]);
      for (const { version, fields, message } of puts) {
        expect([version, fields]).toStrictEqual([version, json(version >= "2025-11-25" || older === "the same" ? newer : older)]);
        expect(message).toMatch(/^(⚠️ )?\?$/);
        ElicitRequestFormParamsSchema.parse({ message: "?", requestedSchema: { type: "object", properties: fields } });
      }
    });

    test("gives the tool what the page says, in every revision", async () => {
      const contents = { newer: json(sent) as JsonObject, older: json(sentBefore ?? sent) as JsonObject };
      expect(await answeredEverywhere(asked, contents)).toStrictEqual(Array.from({ length: 4 }, () => json(value)));
    });
  },
);

test("a page to visit is asked by url, of clients that know url mode", async () => {
  const [, text = ""] = /^- \*\*url\.\*\* `(\{"ask":"url".*?\})` sends/m.exec(page) ?? [];
  const puts = await putEverywhere({ ...(JSON.parse(text) as JsonObject), message: "Pay" });
  expect(puts.map(({ message }) => message)).toEqual(["Pay", "Pay", undefined, undefined]);
});

test("hints travel in every revision, and only where there are any", async () => {
  const hinted = await putEverywhere({ ask: "confirm", id: "q", message: "?", icon: "mail.png", submitLabel: "Send" });
  for (const { meta } of hinted) expect(meta).toStrictEqual({ "parley/hints": { icon: "mail.png", submitLabel: "Send" } });
  for (const { meta } of await putEverywhere({ ask: "confirm", id: "q", message: "?" })) expect(meta).toBeUndefined();
});

describe.each(table("emitted").map((row) => [row[0] ?? "", row] as const))(
  "%s",
  (_, [emitted = "", feed = "", status = "", content = ""]) => {
    test("is shown as the page says", async () => {
      const yielded = json(emitted);
      const run = await startTool(telling(yielded as JsonObject));
      // It ends with the task.
      expect(run.task.message).toBe(json(status));
      await run.answer({ more: "x" });
      expect(run.feed).toStrictEqual([json(feed)].filter((item) => item !== undefined));
      expect(run.result?.["content"]).toStrictEqual([json(content)].filter((block) => block !== undefined));
      for (const dialect of SESSION_DIALECTS) {
        const say = dialect.encoder({ name: "parley", version: "1", pollInterval: () => 1, listTtlMs: 0, pageSize: 1 });
        const methods = run.feed.map((item: FeedItem) => say.feedNotification(item, { progressToken: 1, logLevel: "debug" })?.method);
        const [item] = run.feed;
        const known = {
          progress: "notifications/progress",
          log: "notifications/message",
          release: undefined,
          emit: undefined,
          visited: undefined,
        };
        expect(methods).toStrictEqual(item ? [known[item.type]] : []);
      }
    });
  },
);

test("the snippets do what the page says", async () => {
  held.length = 0;
  const booked = await runTool(bookTable, { day: "2026-12-24" }, { answers: { "party-size": 4, ask_0: true }, crashAt: "every" });
  expect(booked.result?.["structuredContent"]).toEqual({ booked: true, table: 1, size: 4 });
  expect(held).toEqual(["2026-12-24", "1 for 4"]);
  const refused = await runTool(bookTable, { day: "2026-12-24" }, { answers: { "party-size": 4, ask_0: decline } });
  expect(refused.text).toBe("Nothing was booked.");
  held.length = 0;
  expect((await runTool(typed, { day: "2026-12-24" }, { answers: { "party-size": 4, plan: "pro" } })).text).toBe("5 pro");
  const approved = await runTool(approvalsOf, {}, { answers: { "ada/ask_0": true, "bob/ask_0": false } });
  expect(approved.result?.["structuredContent"]).toEqual({ ada: "yes", bob: "no" });
  const opinions = await runTool(opinionsOf, { people: ["ada", "bob"] }, { answers: { "ada/ask_0": true, "bob/ask_0": false } });
  expect(opinions.text).toBe("yes,no");
  expect((await runTool(greet, {}, { answers: { name: decline } })).text).toBe("Hello, stranger");
  const patiently = await runTool(patient, {}, { answers: { "manager/approve": timeout, "deputy/approve": true } });
  expect(patiently.text).toBe("deputy: true");
  expect((await runTool(pay, {}, { events: { paid: { reference: "R-1" } } })).text).toBe("R-1");
  expect(await planned()).toMatchObject({
    asks: [{ name: "party-size" }, { name: "ask_0", message: "Book table 7 for 4?" }],
    steps: ["hold"],
  });
});
