/** Against a front end, whose states of one task differ in nothing but how often it is to be read. */
import { z } from "zod";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { deploy } from "../../server/deployment.fixture.ts";
import { mcpClient } from "../client/mcp-client.ts";
import { follow, watchTask } from "./follow.ts";
import type { TaskState } from "./show.ts";

const asking = catalogue([
  defineTool({
    name: "fast",
    async run(_args, ctx) {
      ctx.log("warning", "the ovens are warm");
      await ctx.step("bake", () => undefined);
      ctx.log("info", "baked");
      return "done";
    },
  }),
  defineTool({
    name: "ask",
    run: async (_args, ctx) => String((await ctx.elicit("sure", { message: "Sure?", schema: z.object({ yes: z.boolean() }) })).yes),
  }),
]);

test("a task that waits is read at growing intervals, however long it has waited, and what is new is seen at once", async () => {
  const { fronts, skip } = await deploy({ catalogue: asking });
  const remote = { url: async () => fronts[0]!.url, token: async () => undefined, lost: () => undefined };
  const client = mcpClient(remote);
  let reads = 0;
  const counted = {
    ...client,
    request: <Result>(method: string, params?: object) => {
      reads += 1;
      return client.request<Result>(method, params);
    },
  };
  const { taskId } = await client.request<{ taskId: string }>("tools/call", { name: "ask", arguments: {} });
  const left = new AbortController();
  const { next } = watchTask(counted, taskId, left.signal);
  let task: TaskState;
  do task = await next();
  while (task.status !== "input_required");

  skip(60_000);
  const state = next();
  reads = 0;
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(reads).toBeGreaterThan(2);
  expect(reads).toBeLessThan(12);
  await client.request("tasks/update", { taskId, inputResponses: { sure: { action: "accept", content: { yes: true } } } });
  expect(["working", "completed"]).toContain((await state).status);
  left.abort();
  await client.close();
});

test("what a tool has logged is shown before its result, also if it has ended before anybody looked", async () => {
  const { fronts, services } = await deploy({ catalogue: asking });
  const remote = { url: async () => fronts[0]!.url, token: async () => undefined, lost: () => undefined };
  const client = Object.assign(mcpClient(remote), { api: undefined as never });
  const { taskId } = await client.request<{ taskId: string }>("tools/call", { name: "fast", arguments: {} });
  await until(async () => (await services.store.load(taskId))?.status === "completed");
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => (written.push(String(text)), true));
  onTestFinished(() => write.mockRestore());
  const task = await follow(client, { taskId, interactive: false, live: true, signal: new AbortController().signal });
  expect([task.status, written.join("")]).toEqual(["completed", "[warning] the ovens are warm\n[info] baked\n"]);
  await client.close();
});
