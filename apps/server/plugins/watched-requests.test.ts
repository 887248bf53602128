import { createTelemetry, NO_TELEMETRY } from "@parley/telemetry";
import { describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { deploy } from "../deployment.fixture.ts";
import { openSession } from "../session-client.fixture.ts";
import { offered } from "../tools.fixture.ts";

async function counted() {
  const telemetry = await createTelemetry(
    { ...NO_TELEMETRY, metrics: { host: "127.0.0.1", port: 0 } },
    { process: "server", version: "1", allowedHosts: [], withLogFields: (_fields, work) => work() },
  );
  const { fronts } = await deploy({ catalogue: offered, fronts: 1, times: { resumableAfterMs: 0 }, telemetry });
  const requests = async () => {
    const { values } = await telemetry.metrics!.requests.get();
    const counts = values.filter(({ metricName }) => metricName?.endsWith("_count"));
    return counts.map(({ labels: { method, dialect, outcome }, value }) => `${method} ${dialect} ${outcome} ${value}`);
  };
  return { front: fronts[0]!, requests };
}

describe("a request is counted", () => {
  test("under the revision of its session, which clients of 2025-03-26 name only in initialize", async () => {
    const { front, requests } = await counted();
    const client = await openSession(front, { version: "2025-03-26" });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const unnamed = { "mcp-protocol-version": undefined };
    await (await client.post(front, ping, unnamed)).text();
    await (await client.post(front, [ping], unnamed)).text();

    await until(async () => (await requests()).length === 3);
    expect(await requests()).toEqual(["initialize 2025-03-26 ok 1", "ping 2025-03-26 ok 1", "batch 2025-03-26 ok 1"]);
  });

  test.each([["2025-11-25"], ["2025-06-18"]])(
    "as one whose client has left, not as a failure, if a client of %s cancels its call",
    async (version) => {
      const { front, requests } = await counted();
      const client = await openSession(front, { version });
      const call = await client.stream(front, "tools/call", { name: "greet", arguments: {} }, "the-call");
      const question = await call.next();
      await client.post(front, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "the-call" } });
      expect(await call.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: question.id } });
      await call.ended();

      await until(async () => (await requests()).some((line) => line.startsWith("tools/call")));
      expect(await requests()).toContain(`tools/call ${version} gone 1`);
    },
  );

  test("as one whose client has left if the client ends its session, or cancels its tasks/result", async () => {
    const { front, requests } = await counted();
    const client = await openSession(front);
    const { messages } = await client.request(front, "tools/call", { name: "greet", arguments: {}, task: {} });
    const params = { taskId: messages[0]?.result?.["taskId"] };
    const first = await client.stream(front, "tasks/result", params, "first");
    await first.next();
    await client.post(front, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "first" } });
    await first.ended();
    const second = await client.stream(front, "tasks/result", params, "second");
    await second.next();
    await fetch(front.url, { method: "DELETE", headers: { "mcp-session-id": client.sessionId } });
    await second.ended();

    await until(async () => (await requests()).includes("tasks/result 2025-11-25 gone 2"));
  });

  test("as a response if it answers a question", async () => {
    const { front, requests } = await counted();
    const client = await openSession(front);
    const call = await client.stream(front, "tools/call", { name: "greet", arguments: {} });
    const { id } = await call.next();
    await client.reply(front, id, { action: "accept", content: { name: "" } });
    await client.reply(front, (await call.next()).id, { action: "accept", content: { name: "Ann" } });
    await call.ended();

    await until(async () => (await requests()).length === 4);
    expect(await requests()).toEqual(expect.arrayContaining(["response 2025-11-25 refused 1", "response 2025-11-25 ok 1"]));
  });

  test("as refused or failed by the error that it is answered with", async () => {
    const { front, requests } = await counted();
    const client = await openSession(front);
    await client.request(front, "tools/call", { name: "no-such-tool", arguments: {} });
    await client.request(front, "tasks/get", { taskId: "no-such-task" });

    await until(async () => (await requests()).length === 3);
    expect(await requests()).toEqual(expect.arrayContaining(["tools/call 2025-11-25 refused 1", "tasks/get 2025-11-25 refused 1"]));
  });
});
