/** Errors of tools, prompts and resources: the caller gets an id, under which the operator's log has the details. */
import { catalogue, definePrompt, defineResource, defineTool, ParleyError, ToolError } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { deploy, type Deployment } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const SECRET = "postgres://admin:hunter2@10.0.0.5:5432";
const MASKED = /^(tool|prompt) \S+ failed\. What went wrong is in the server's log, under defect ([0-9a-f-]{36})\.$/;

function connect(): never {
  throw Object.assign(new Error(`connect ECONNREFUSED ${SECRET}`, { cause: new RangeError("no route to host") }), { code: "ECONNREFUSED" });
}

const yes = z.object({ ok: z.boolean() });
const seen: string[] = [];

const breaking = catalogue([
  defineTool({ name: "throws", run: () => connect() }),
  defineTool({ name: "throws-later", run: () => new Promise((_resolve, reject) => setTimeout(() => reject(new Error(SECRET)), 1)) }),
  defineTool({ name: "step", run: async (_args, ctx) => void (await ctx.step("charge", () => connect())) }),
  defineTool({
    name: "caught",
    async run(_args, ctx) {
      try {
        await ctx.step("charge", () => connect());
      } catch (error) {
        seen.push((error as Error).message);
        const { ok } = await ctx.elicit("again", { message: "It failed. Give up?", schema: yes });
        if (ok) throw error;
      }
      return "done";
    },
  }),
  defineTool({ name: "any", run: async () => Promise.any([Promise.reject(new Error(SECRET)), Promise.reject(new Error("second"))]) }),
  defineTool({
    name: "callback",
    run: async (_args, ctx) => {
      ctx.step("charge", () => connect()).catch(() => undefined);
      const lost = ctx.step("lost", () => connect());
      await ctx.sleep("a-moment", "20ms");
      return lost === undefined ? "" : "done";
    },
  }),
  defineTool({ name: "retried", attempts: 2, backoff: "1ms", run: () => connect() }),
  defineTool({
    name: "says-no",
    run: async (_args, ctx) => void (await ctx.step("look", () => Promise.reject(new ToolError("no table")))),
  }),
  defineTool({ name: "known", run: () => Promise.reject(new ParleyError("INVALID_OUTPUT", "for the caller")) }),
  definePrompt({ name: "breaks", run: () => connect() }),
  definePrompt({ name: "says-no", run: () => Promise.reject(new ToolError("no topic")) }),
  defineResource({ uri: "test://broken", name: "broken", read: () => connect() }),
]);

async function oneFront(settings = {}) {
  const deployment = await deploy({ catalogue: breaking, fronts: 1, settings });
  const [here] = deployment.fronts;
  if (!here) throw new Error("a front end is needed");
  return { ...deployment, here };
}

/** The log lines under an id. */
function under({ logged }: Pick<Deployment, "logged">, defectId: unknown) {
  return logged.filter(({ fields }) => fields["defectId"] === defectId);
}

/** Everything that a client received, as one string. */
function asText(...received: unknown[]): string {
  return JSON.stringify(received);
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? "";

describe("what a tool throws", () => {
  test.each(["throws", "throws-later", "any"])("is masked for a client that holds its call: %s", async (name) => {
    const deployment = await oneFront();
    const received = await rpc(deployment.here, "tools/call", { name, arguments: {} }, { tasks: false });
    expect(received.result).toMatchObject({ isError: true });
    const [, , defectId] = MASKED.exec(textOf(received.result)) ?? [];
    expect(asText(received)).not.toMatch(/hunter2|ECONNREFUSED|second|masked-errors/);

    const [line] = under(deployment, defectId);
    expect(line).toMatchObject({ message: "task finished with an error", fields: { tool: name, status: "completed" } });
    expect(JSON.stringify(line?.fields)).toContain("hunter2");
  });

  test("is logged with its message, its causes and the author's stack", async () => {
    const deployment = await oneFront();
    await rpc(deployment.here, "tools/call", { name: "throws", arguments: {} }, { tasks: false });
    expect(deployment.logged.find(({ message }) => message === "task finished with an error")?.fields).toMatchObject({
      taskId: expect.any(String),
      tool: "throws",
      error: "Error",
      code: "ECONNREFUSED",
      detail: `connect ECONNREFUSED ${SECRET}`,
      stack: expect.arrayContaining([expect.stringMatching(/connect .*masked-errors\.test\.ts/)]),
      cause: { error: "RangeError", detail: "no route to host" },
    });
  });

  test("is masked in the task, its status notifications and its result, in every revision", async () => {
    const deployment = await oneFront();
    const { here } = deployment;
    const taskId = (await rpc(here, "tools/call", { name: "throws", arguments: {} })).result!["taskId"]!;
    const got = () => rpc(here, "tasks/get", { taskId });
    await until(async () => (await got()).result!["status"] === "completed");
    expect(asText(await got())).not.toContain("hunter2");

    for (const version of ["2025-11-25", "2025-06-18", "2025-03-26"]) {
      const client = await openSession(here, { version });
      const held = await client.request(here, "tools/call", { name: "throws", arguments: {} });
      expect(textOf(held.messages.at(-1)?.result), version).toMatch(MASKED);
      expect(asText(held.messages)).not.toContain("hunter2");
    }
    const client = await openSession(here);
    const created = (await client.request(here, "tools/call", { name: "step", arguments: {}, task: {} })).messages.at(-1)?.result;
    const result = await client.request(here, "tasks/result", { taskId: created!["taskId"] });
    const status = await client.request(here, "tasks/get", { taskId: created!["taskId"] });
    expect(status.messages.at(-1)?.result).toMatchObject({ status: "failed", statusMessage: expect.stringMatching(MASKED) });
    expect(asText(created, result.messages, status.messages)).not.toContain("hunter2");
  });

  test("in a step is masked, and the log has step, stack and causes under the id that the caller sees", async () => {
    const deployment = await oneFront();
    const received = await rpc(deployment.here, "tools/call", { name: "step", arguments: {} }, { tasks: false });
    const [, , defectId] = MASKED.exec(textOf(received.result)) ?? [];
    expect(under(deployment, defectId)).toMatchObject([
      {
        message: "step failed",
        fields: {
          tool: "step",
          step: "charge",
          attempt: 1,
          detail: `connect ECONNREFUSED ${SECRET}`,
          cause: { detail: "no route to host" },
          stack: expect.arrayContaining([expect.stringContaining("masked-errors.test.ts")]),
        },
      },
      { message: "task finished with an error", fields: { tool: "step", step: "charge", error: "StepFailed" } },
    ]);
  });

  test("in a step reaches the handler's own catch, in replays too, and the caller only as the id of the step", async () => {
    seen.length = 0;
    const deployment = await oneFront();
    const { here } = deployment;
    const taskId = (await rpc(here, "tools/call", { name: "caught", arguments: {} })).result!["taskId"]!;
    const got = async () => (await rpc(here, "tasks/get", { taskId })).result!;
    await until(async () => (await got())["status"] === "input_required");
    await rpc(here, "tasks/update", { taskId, inputResponses: { again: { action: "accept", content: { ok: true } } } });
    await until(async () => (await got())["status"] === "completed");

    expect(seen).toEqual([`connect ECONNREFUSED ${SECRET}`, `connect ECONNREFUSED ${SECRET}`]);
    const end = await got();
    const [, , defectId] = MASKED.exec(textOf(end["result"])) ?? [];
    expect(asText(end)).not.toContain("hunter2");
    expect(under(deployment, defectId).map(({ message }) => message)).toEqual(["step failed", "task finished with an error"]);
  });

  test("and does not handle is reported by its code, with the id of its log line", async () => {
    const deployment = await oneFront();
    const received = await rpc(deployment.here, "tools/call", { name: "callback", arguments: {} }, { tasks: false });
    expect(received.error).toMatchObject({ message: "step:lost failed and was never awaited", data: { code: "UNHANDLED_REJECTION" } });
    expect(asText(received)).not.toContain("hunter2");
    expect(under(deployment, received.error!.data!["defectId"])).toMatchObject([
      { fields: { code: "UNHANDLED_REJECTION", cause: { error: "StepFailed", step: "lost", detail: expect.stringContaining(SECRET) } } },
    ]);
  });

  test("is logged for every attempt", async () => {
    const deployment = await oneFront({ graceMs: 1 });
    const { here, services } = deployment;
    const calling = rpc(here, "tools/call", { name: "retried", arguments: {} }, { tasks: false });
    await until(async () => {
      for (const run of await services.store.overdue({ partition: 0, nowMs: services.clock.now(), limit: 10 }))
        await services.queue.add(run);
      return deployment.logged.some(({ message }) => message === "task finished with an error");
    });
    expect(textOf((await calling).result)).toMatch(MASKED);
    expect(deployment.logged.find(({ message }) => message === "run failed, will be retried")?.fields).toMatchObject({
      tool: "retried",
      attempt: 1,
      detail: expect.stringContaining(SECRET),
    });
  });

  test("for callers is shown: ToolError, even from a step, and ParleyError", async () => {
    const { here, logged } = await oneFront();
    const refused = await rpc(here, "tools/call", { name: "says-no", arguments: {} }, { tasks: false });
    expect(refused.result).toMatchObject({ isError: true, content: [{ text: "no table" }] });
    expect(logged.filter(({ message }) => message === "step failed")).toMatchObject([{ fields: { step: "look", error: "ToolError" } }]);
    expect(JSON.stringify(logged.map(({ fields }) => fields["detail"]))).not.toContain("no table");
    const known = await rpc(here, "tools/call", { name: "known", arguments: {} }, { tasks: false });
    expect(known.error).toMatchObject({ message: "for the caller", data: { code: "INVALID_OUTPUT" } });
  });
});

describe("what a prompt or a resource throws", () => {
  test("is masked for a prompt, and a ToolError is shown", async () => {
    const deployment = await oneFront();
    const { here } = deployment;
    const broken = await rpc(here, "prompts/get", { name: "breaks" });
    expect(broken.error).toMatchObject({ code: -32603, message: expect.stringMatching(MASKED) });
    expect(under(deployment, broken.error!.data!["defectId"])).toMatchObject([
      { fields: { prompt: "breaks", detail: expect.stringContaining(SECRET) } },
    ]);
    expect((await rpc(here, "prompts/get", { name: "says-no" })).error).toMatchObject({ message: "no topic" });
  });

  test("is masked for a resource, in both families", async () => {
    const deployment = await oneFront();
    const { here } = deployment;
    const client = await openSession(here);
    const inSession = await client.request(here, "resources/read", { uri: "test://broken" });
    for (const { error } of [await rpc(here, "resources/read", { uri: "test://broken" }), inSession.messages.at(-1)!]) {
      expect(error).toEqual({ code: -32603, message: "Internal error", data: { defectId: expect.any(String) } });
      expect(under(deployment, error!.data!["defectId"])).toMatchObject([
        { message: "request failed", fields: { err: { message: expect.stringContaining(SECRET) } } },
      ]);
    }
  });
});

describe("PARLEY_SHOW_ERRORS", () => {
  test("shows callers the error, for development", async () => {
    const { here } = await oneFront({ showErrors: true });
    const message = `connect ECONNREFUSED ${SECRET}`;
    const options = { tasks: false };
    for (const name of ["throws", "step"])
      expect(textOf((await rpc(here, "tools/call", { name, arguments: {} }, options)).result)).toBe(message);
    expect((await rpc(here, "prompts/get", { name: "breaks" })).error).toMatchObject({ message });
    expect((await rpc(here, "resources/read", { uri: "test://broken" })).error).toMatchObject({ code: -32603, message });
    const client = await openSession(here);
    const inSession = await client.request(here, "resources/read", { uri: "test://broken" });
    expect(inSession.messages.at(-1)?.error).toMatchObject({ code: -32603, message });
  });
});
