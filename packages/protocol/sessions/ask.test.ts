import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ProgressNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ServerNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import type { Ask, AskRequest, ClientCapabilities, FeedItem } from "@parley/core";
import { SESSION_DIALECTS } from "./index.ts";

const facts = { name: "parley", version: "1.2.3", pollInterval: () => 500, listTtlMs: 0, pageSize: 100 };
const ALL = SESSION_DIALECTS.map((dialect) => ({ version: dialect.version, dialect, say: dialect.encoder(facts) }));
const [newest, ...older] = ALL;
if (!newest) throw new Error("no dialect");

const form: AskRequest = {
  type: "form",
  message: "How many?",
  schema: { type: "object", properties: { n: { type: "integer", title: "Number" } } },
};
const url: AskRequest = { type: "url", message: "Please pay.", url: "https://pay.example/1" };
const sampling: AskRequest = {
  type: "sampling",
  params: { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10, _meta: { x: 1 } },
};
const withTools: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1, tools: [] } };
const withChoice: AskRequest = { type: "sampling", params: { messages: [], maxTokens: 1, toolChoice: { mode: "auto" } } };
const roots: AskRequest = { type: "roots" };

const ask = (request: AskRequest, more: Partial<Ask> = {}): Ask => ({
  key: "q",
  digest: "d",
  calledAt: "0",
  request,
  askedAtMs: 0,
  deadlineMs: 1,
  onTimeout: "cancel",
  ...more,
});
const IDS = { requestId: "t:q:0:sig", elicitationId: "t:q" };
const related = { "io.modelcontextprotocol/related-task": { taskId: "t" } };

describe("a question of 2025-11-25", () => {
  const { say } = newest;

  test("names its mode, and the task where the client knows it", () => {
    const put = say.ask(ask(form), { ...IDS, taskId: "t" });
    expect(put).toStrictEqual({
      jsonrpc: "2.0",
      id: "t:q:0:sig",
      method: "elicitation/create",
      params: { mode: "form", message: "How many?", requestedSchema: form.schema, _meta: related },
    });
    ElicitRequestSchema.parse(put);
    expect(say.ask(ask(form), IDS).params).not.toHaveProperty("_meta");
  });

  test("by url has an id, by which the client may hear of its end", () => {
    const put = say.ask(ask(url), { ...IDS, taskId: "t" });
    expect(put.params).toStrictEqual({
      mode: "url",
      message: "Please pay.",
      url: "https://pay.example/1",
      elicitationId: "t:q",
      _meta: related,
    });
    ElicitRequestSchema.parse(put);
  });

  test("to the model keeps its own _meta", () => {
    const put = say.ask(ask(sampling), { ...IDS, taskId: "t" });
    expect(put.method).toBe("sampling/createMessage");
    expect(put.params).toStrictEqual({ ...sampling.params, _meta: { x: 1, ...related } });
    CreateMessageRequestSchema.parse(put);
    expect(say.ask(ask(sampling), IDS).params).toStrictEqual(sampling.params);
  });

  test("for roots needs no more than its name", () => {
    expect(say.ask(ask(roots), IDS)).toStrictEqual({ jsonrpc: "2.0", id: "t:q:0:sig", method: "roots/list", params: {} });
    const put = say.ask(ask(roots), { ...IDS, taskId: "t" });
    expect(put.params).toStrictEqual({ _meta: related });
    ListRootsRequestSchema.parse(put);
  });
});

describe.each(older)("a question of $version", ({ say }) => {
  test("has no mode, and knows no tasks", () => {
    const put = say.ask(ask(form), { ...IDS, taskId: "t" });
    expect(put.params).toStrictEqual({ message: "How many?", requestedSchema: form.schema });
    ElicitRequestSchema.parse(put);
    expect(say.ask(ask(roots), { ...IDS, taskId: "t" })).toMatchObject({ method: "roots/list", params: {} });
  });

  test("is never put by url: that would be a defect", () => {
    expect(() => say.ask(ask(url), IDS)).toThrow("see canAsk");
  });

  test("to the model has one block in each message", () => {
    const blocks = [
      { type: "text", text: "a" },
      { type: "image", data: "AA==", mimeType: "image/png" },
    ];
    const messages = [
      { role: "user", content: blocks },
      { role: "assistant", content: { type: "text", text: "b" } },
    ];
    const put = say.ask(ask({ type: "sampling", params: { messages, maxTokens: 1 } }), IDS);
    expect(put.method).toBe("sampling/createMessage");
    expect(put.params).toStrictEqual({
      messages: [
        { role: "user", content: { type: "text", text: "a" } },
        { role: "user", content: { type: "image", data: "AA==", mimeType: "image/png" } },
        { role: "assistant", content: { type: "text", text: "b" } },
      ],
      maxTokens: 1,
    });
    CreateMessageRequestSchema.parse(put);
  });
});

test.each(older)("a question of $version to the model is passed on where it has no messages, or none that are objects", ({ say }) => {
  for (const params of [{ maxTokens: 1 }, { messages: "hi", maxTokens: 1 }, { messages: ["hi", null, { role: "user" }], maxTokens: 1 }]) {
    expect(say.ask(ask({ type: "sampling", params }), IDS).params).toStrictEqual(params);
  }
});

describe.each(ALL)("a question of $version that is put again", ({ say }) => {
  const messageOf = (request: AskRequest, violations: readonly { path: string; message: string }[]): string => {
    const { params } = say.ask(ask(request, { refused: { count: 1, violations } }), IDS);
    return (params as { message: string }).message;
  };

  test("says what was wrong with the answer, by the names that the form shows", () => {
    const violations = [
      { path: "/content/n", message: "must be at most 20" },
      { path: "/content/a~1b", message: "is required" },
      { path: "/content", message: "must be an object with the form's fields" },
    ];
    expect(messageOf(form, violations)).toBe(
      "How many?\n\nThe last answer could not be taken: Number must be at most 20; a/b is required; the answer must be an object with the form's fields.",
    );
  });

  test("names fields as they are called, not as a JSON pointer escapes them", () => {
    expect(messageOf(form, [{ path: "/content/a~0b~01", message: "is required" }])).toContain(": a~b~1 is required.");
  });

  test("does not say more than a person reads", () => {
    const violations = Array.from({ length: 50 }, (_, index) => ({ path: `/content/f${index}`, message: "is required" }));
    expect(messageOf(form, violations)).toBe(
      "How many?\n\nThe last answer could not be taken: f0 is required; f1 is required; f2 is required; f3 is required; f4 is required.",
    );
    expect(messageOf(form, [])).toBe("How many?");
  });
});

test("a question by url that is put again says what was wrong, too", () => {
  const refused = { count: 1, violations: [{ path: "/content/code", message: "is not expected" }] };
  expect(newest.say.ask(ask(url, { refused }), IDS).params).toMatchObject({
    message: "Please pay.\n\nThe last answer could not be taken: code is not expected.",
  });
});

/** What clients can be asked, by revision and declared capabilities. docs/dialects.md has the same table. */
const CAN_ASK: readonly (readonly [string, AskRequest, ClientCapabilities, readonly boolean[]])[] = [
  ["a form, of one that knows forms", form, { elicitation: { form: true, url: false } }, [true, true, true]],
  ["a form, of one that knows urls only", form, { elicitation: { form: false, url: true } }, [false, false, false]],
  ["a form, of one that cannot ask", form, { sampling: { tools: true }, roots: true }, [false, false, false]],
  ["a url, of one that knows urls", url, { elicitation: { form: false, url: true } }, [true, false, false]],
  ["a url, of one that knows forms only", url, { elicitation: { form: true, url: false } }, [false, false, false]],
  ["a url, of one that has a model and roots", url, { sampling: { tools: true }, roots: true }, [false, false, false]],
  ["a completion, of one that has a model", sampling, { sampling: { tools: false } }, [true, true, true]],
  ["a completion, of one that has none", sampling, { elicitation: { form: true, url: true } }, [false, false, false]],
  ["a completion with tools, of one that knows them", withTools, { sampling: { tools: true } }, [true, false, false]],
  ["a completion with tools, of one that does not", withTools, { sampling: { tools: false } }, [false, false, false]],
  ["a completion with a choice of tools", withChoice, { sampling: { tools: true } }, [true, false, false]],
  ["roots, of one that has them", roots, { roots: true }, [true, true, true]],
  ["roots, of one that has none", roots, {}, [false, false, false]],
];

test.each(CAN_ASK)("a client is asked %s, only where it can be", (_, request, capabilities, expected) => {
  expect(ALL.map(({ dialect }) => dialect.canAsk(request, capabilities))).toStrictEqual(expected);
});

describe("notifications", () => {
  const progress = { type: "progress", progress: 50, total: 100, message: "half" } as const;
  const log = { type: "log", level: "warning", data: { at: 1 }, logger: "tool" } as const;

  test.each(ALL)("of $version show progress to clients that gave a token, and logs from the level that was set", ({ say }) => {
    const shown = say.feedNotification(progress, { progressToken: 0 });
    expect(shown).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: 0, progress: 50, total: 100, message: "half" },
    });
    ProgressNotificationSchema.parse(shown);
    expect(say.feedNotification(progress, { logLevel: "debug" })).toBeUndefined();
    const logged = say.feedNotification(log, { logLevel: "warning" });
    expect(logged).toStrictEqual({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "warning", data: { at: 1 }, logger: "tool" },
    });
    LoggingMessageNotificationSchema.parse(logged);
    expect(say.feedNotification(log, { logLevel: "error" })).toBeUndefined();
    expect(say.feedNotification(log, { progressToken: 1 })).toBeUndefined();
  });

  test("about a task name it where the revision has tasks", () => {
    const wants = { progressToken: 1, logLevel: "debug" } as const;
    expect(newest.say.feedNotification(progress, wants, "t")).toMatchObject({ params: { _meta: related } });
    expect(newest.say.feedNotification(log, wants, "t")).toMatchObject({ params: { _meta: related } });
    for (const { say } of older) expect(say.feedNotification(progress, wants, "t")?.params).not.toHaveProperty("_meta");
  });

  test.each(ALL)("of $version leave out what is between front ends and workers", ({ say }) => {
    expect(say.feedNotification({ type: "whatever" } as unknown as FeedItem, { progressToken: 1, logLevel: "debug" })).toBeUndefined();
  });

  test.each(ALL)("of $version report changes of lists and resources", ({ say }) => {
    for (const kind of ["tools", "prompts", "resources"] as const) {
      expect(say.changed({ type: kind })).toStrictEqual({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed`, params: {} });
      ServerNotificationSchema.parse(say.changed({ type: kind }));
    }
    const updated = say.changed({ type: "resource", uri: "test://a" });
    expect(updated).toStrictEqual({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "test://a" } });
    ResourceUpdatedNotificationSchema.parse(updated);
  });
});
