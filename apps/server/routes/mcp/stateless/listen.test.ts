import { connect } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { until } from "../../../../../test/support/until.ts";
import { post, rpc, stream, type Stream } from "../../../client.fixture.ts";
import { deploy, type Deploy, type Deployment, type Front, holdNext } from "../../../deployment.fixture.ts";
import { offered } from "../../../tools.fixture.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const alice = { action: "accept", content: { name: "Alice" } };

async function twoFronts(request: Partial<Deploy> = {}): Promise<Deployment & { here: Front; there: Front }> {
  const deployment = await deploy({ catalogue: offered, ...request });
  return { ...deployment, here: deployment.fronts[0]!, there: deployment.fronts[1]! };
}

async function task(front: Front, name = "greet", principal?: string): Promise<string> {
  const created = await rpc(front, "tools/call", { name, arguments: {} }, principal === undefined ? {} : { principal });
  return created.result!["taskId"]!;
}

function listen(front: Front, notifications: object, options = {}): Promise<Stream> {
  return stream(front, "subscriptions/listen", { notifications }, options);
}

/** Reads until the task has that status, and returns all statuses that it has seen. */
async function followTo(open: Stream, status: string): Promise<string[]> {
  const seen: string[] = [];
  while (seen.at(-1) !== status) seen.push((await open.next()).params!["status"]!);
  return seen;
}

describe("a listen stream", () => {
  test("is refused to a client that accepts only JSON", async () => {
    const { here } = await twoFronts();
    const opening = (accept: string) => post(here, "subscriptions/listen", { notifications: {} }, { headers: { accept } });
    const refused = await opening("application/json");
    expect([refused.status, await refused.json()]).toMatchObject([
      406,
      {
        id: expect.any(Number) as number,
        error: { code: -32600, message: "subscriptions/listen opens a stream: accept text/event-stream" },
      },
    ]);
    const open = await opening("*/*");
    expect([open.status, open.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    await open.body?.cancel();
  });

  test("begins with what was agreed, and every message carries the id of the request", async () => {
    const { here } = await twoFronts();
    const taskId = await task(here);
    const open = await listen(here, { taskIds: [taskId], toolsListChanged: true });
    const acknowledged = await open.next();
    expect(acknowledged).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { taskIds: [taskId], toolsListChanged: true } },
    });
    const notification = await open.next();
    expect(notification).toMatchObject({ method: "notifications/tasks", params: { taskId } });
    const id = acknowledged.params!["_meta"]![SUBSCRIPTION];
    expect(id).toBeTypeOf("number");
    expect(notification.params!["_meta"]![SUBSCRIPTION]).toBe(id);
    open.close();
  });

  test("sends every state of a task until its end, even if another front end received the answer", async () => {
    const { here, there } = await twoFronts();
    const taskId = await task(here);
    const open = await listen(here, { taskIds: [taskId] });
    await open.next();
    const before = await followTo(open, "input_required");
    expect(before.at(-1)).toBe("input_required");
    await rpc(there, "tasks/update", { taskId, inputResponses: { who: alice } });
    let last = await open.next();
    while (last.params!["status"] !== "completed") last = await open.next();
    expect(last.params).toMatchObject({ result: { resultType: "complete", content: [{ text: "Hello, Alice!" }] } });
    open.close();
  });

  test("sends the current state of a task once, even if it has already ended", async () => {
    const { here, there } = await twoFronts();
    const taskId = await task(here, "break");
    await until(async () => (await rpc(here, "tasks/get", { taskId })).result!["status"] === "completed");
    const open = await listen(there, { taskIds: [taskId], toolsListChanged: true });
    await open.next();
    expect((await open.next()).params).toMatchObject({ status: "completed" });
    await rpc(here, "tools/call", { name: "announce", arguments: {} });
    expect(await open.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    open.close();
  });

  test("checks the owner of tasks without reading them, and reads a few at once to report them", async () => {
    const { here, services } = await twoFronts();
    const taskIds = await Promise.all(Array.from({ length: 20 }, () => task(here)));
    const { load } = services.store;
    let [underWay, most] = [0, 0];
    const back = Promise.withResolvers<void>();
    Object.assign(services.store, {
      async load(taskId: string) {
        most = Math.max(most, (underWay += 1));
        await back.promise;
        return await load(taskId).finally(() => (underWay -= 1));
      },
    });

    const open = await listen(here, { taskIds });
    expect((await open.next()).params!["notifications"]!["taskIds"]).toHaveLength(20);
    back.resolve();
    for (const _ of taskIds) expect((await open.next()).method).toBe("notifications/tasks");

    expect(most).toBeLessThanOrEqual(8);
    open.close();
  });

  test("reports nothing about tasks that are unknown or belong to other callers", async () => {
    const { here } = await twoFronts();
    const foreign = await task(here, "greet", "alice");
    const open = await listen(here, { taskIds: [foreign, "0-unknown"], toolsListChanged: true }, { principal: "mallory" });
    expect((await open.next()).params!["notifications"]).toEqual({ toolsListChanged: true });
    await rpc(here, "tasks/update", { taskId: foreign, inputResponses: { who: alice } }, { principal: "alice" });
    await rpc(here, "tools/call", { name: "announce", arguments: {} });
    expect(await open.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    open.close();
  });

  test("reports changed lists across front ends, and only those that were requested", async () => {
    const { here, there } = await twoFronts();
    const prompts = await listen(here, { promptsListChanged: true });
    const both = await listen(there, { toolsListChanged: true, promptsListChanged: true });
    await Promise.all([prompts.next(), both.next()]);
    await rpc(there, "tools/call", { name: "announce", arguments: {} });
    expect((await prompts.next()).method).toBe("notifications/prompts/list_changed");
    expect([(await both.next()).method, (await both.next()).method]).toEqual(
      expect.arrayContaining(["notifications/prompts/list_changed", "notifications/tools/list_changed"]),
    );
    expect(prompts.text).not.toContain("notifications/tools");
    prompts.close();
    both.close();
  });

  test("reports changes to the resources that it named", async () => {
    const { here, there } = await twoFronts();
    const named = await listen(here, { resourceSubscriptions: ["test://text"] });
    const other = await listen(here, { resourceSubscriptions: ["test://other"], toolsListChanged: true });
    await Promise.all([named.next(), other.next()]);
    await rpc(there, "tools/call", { name: "touch", arguments: {} });
    expect(await named.next()).toMatchObject({ method: "notifications/resources/updated", params: { uri: "test://text" } });
    await rpc(there, "tools/call", { name: "announce", arguments: {} });
    expect((await other.next()).method).toBe("notifications/tools/list_changed");
    named.close();
    other.close();
  });

  test("reads no task for what its other streams tell each other", async () => {
    const { here, there, services } = await twoFronts();
    const taskId = await task(here);
    const open = await listen(there, { taskIds: [taskId], toolsListChanged: true });
    await followTo(open, "input_required");
    await services.clock.idle();
    const load = vi.spyOn(services.store, "load");
    await services.wakeUps.tell(taskId, { type: "replied", requestId: "1" });
    await rpc(here, "tools/call", { name: "announce", arguments: {} });
    expect((await open.next()).method).toBe("notifications/tools/list_changed");
    expect(load.mock.calls.filter(([id]) => id === taskId)).toEqual([]);
    open.close();
  });

  test("reports each state once, however often it is woken", async () => {
    const { here, there, services } = await twoFronts();
    const taskId = await task(here);
    let wake: () => void = () => undefined;
    const watch = services.wakeUps.watch.bind(services.wakeUps);
    services.wakeUps.watch = async (id, onChange) => {
      wake = onChange;
      return await watch(id, onChange);
    };
    const open = await listen(there, { taskIds: [taskId], toolsListChanged: true });
    await followTo(open, "input_required");
    wake();
    await services.clock.idle();
    await rpc(here, "tools/call", { name: "announce", arguments: {} });
    expect((await open.next()).method).toBe("notifications/tools/list_changed");
    open.close();
  });

  test("ends with its result when the front end is shut down", async () => {
    const { here } = await twoFronts();
    const open = await listen(here, { toolsListChanged: true });
    const { params } = await open.next();
    const closed = here.app.close();
    const end = await open.next();
    expect(end).toMatchObject({
      id: params!["_meta"]![SUBSCRIPTION],
      result: { resultType: "complete", _meta: { [SUBSCRIPTION]: end.id } },
    });
    expect(await open.rest()).toEqual([]);
    await closed;
  });

  test("that is still being opened when the front end is shut down ends with its result, too", async () => {
    const { here, services } = await twoFronts();
    const taskId = await task(here);
    const reading = holdNext(services.store, "summaries");
    const opening = listen(here, { taskIds: [taskId], toolsListChanged: true });
    await until(() => reading.awaited);
    const other = await listen(here, { toolsListChanged: true });
    const closed = here.app.close();
    // By now, streams are told to end.
    await other.rest();
    reading.resolve();
    const open = await opening;
    expect((await open.rest()).at(-1)).toMatchObject({ result: { resultType: "complete" } });
    await closed;
  });

  test("is kept open by comments", async () => {
    const { here } = await twoFronts({ times: { keepAliveMs: 5 } });
    const open = await listen(here, { toolsListChanged: true });
    await open.next();
    const never = open.next().catch(() => undefined);
    await until(() => open.text.includes(": keep-alive\n\n"));
    open.close();
    await never;
  });

  test("looks at no announcement once its client has disconnected, however many came and went", async () => {
    const { here, services } = await twoFronts();
    /** How often an announcement is looked at, by everyone who hears it. */
    async function looks(): Promise<number> {
      let count = 0;
      await services.wakeUps.announce({
        get type() {
          count += 1;
          return "tools" as const;
        },
      });
      await services.clock.idle();
      return count;
    }
    const before = await looks();
    const open = await Promise.all(Array.from({ length: 5 }, () => listen(here, { toolsListChanged: true })));
    expect(await looks()).toBeGreaterThanOrEqual(before + open.length);
    for (const each of open) each.close();
    await until(async () => (await looks()) === before);
  });

  test("watches nothing once its client has disconnected", async () => {
    const { here, services } = await twoFronts({ limits: { listensMax: 1 } });
    const taskId = await task(here);
    const watched = new Set<string>();
    const watch = services.wakeUps.watch.bind(services.wakeUps);
    services.wakeUps.watch = async (id, onChange) => {
      const stop = await watch(id, onChange);
      watched.add(id);
      return () => {
        watched.delete(id);
        stop();
      };
    };
    const open = await listen(here, { taskIds: [taskId] });
    await followTo(open, "input_required");
    expect([...watched]).toEqual([taskId]);
    open.close();
    await until(() => watched.size === 0);
    const again = await until(async () => {
      const next = await listen(here, { toolsListChanged: true });
      return (await next.next()).method ? next : undefined;
    });
    again.close();
  });

  test("beyond the limit of the front end is refused", async () => {
    const { here } = await twoFronts({ limits: { listensMax: 1 } });
    const open = await listen(here, { toolsListChanged: true });
    await open.next();
    const refused = await rpc(here, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    expect(refused).toMatchObject({
      contentType: "application/json; charset=utf-8",
      error: { code: -32603, message: expect.stringContaining("PARLEY_LISTENS_MAX") },
    });
    open.close();
  });

  test("of more tasks than the server follows is refused with -32602", async () => {
    const { here } = await twoFronts({ limits: { listenTasksMax: 2 } });
    const refused = await rpc(here, "subscriptions/listen", { notifications: { taskIds: ["a", "b", "c"] } });
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining("PARLEY_LISTEN_TASKS_MAX") });
  });

  test("of tasks is refused to a client without the extension with -32021 and HTTP 400", async () => {
    const { here } = await twoFronts();
    const refused = await rpc(here, "subscriptions/listen", { notifications: { taskIds: ["a"] } }, { tasks: false });
    expect(refused).toMatchObject({ status: 400, error: { code: -32021 } });
  });

  test("whose client reads nothing is dropped, and costs no more memory than one message until then", async () => {
    const { here, there, services, logged } = await twoFronts({ times: { keepAliveMs: 5, stallTimeoutMs: 300 } });
    const taskId = await task(here);
    await until(async () => (await rpc(here, "tasks/get", { taskId })).result!["status"] === "input_required");
    // A large task that keeps changing.
    let revision = 10;
    const load = services.store.load.bind(services.store);
    services.store.load = async (id) => {
      const loaded = await load(id);
      return loaded && { ...loaded, revision: (revision += 1), message: "x".repeat(500_000) };
    };
    let wake: () => void = () => undefined;
    const watch = services.wakeUps.watch.bind(services.wakeUps);
    services.wakeUps.watch = async (id, onChange) => {
      wake = onChange;
      return await watch(id, onChange);
    };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: "slow",
      method: "subscriptions/listen",
      params: {
        notifications: { taskIds: [taskId] },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
        },
      },
    });
    const { port } = new URL(there.url);
    const socket = connect(Number(port), "127.0.0.1");
    let received = 0;
    socket.on("data", (data) => {
      received += data.length;
      socket.pause();
    });
    const head = ["POST /mcp HTTP/1.1", `Host: 127.0.0.1:${port}`, "Content-Type: application/json", "MCP-Protocol-Version: 2026-07-28"];
    socket.write([...head, "Mcp-Method: subscriptions/listen", `Content-Length: ${body.length}`, "", body].join("\r\n"));
    await until(() => received > 0);
    const waking = setInterval(() => wake(), 1);
    const before = revision;
    await until(() => logged.some(({ fields }) => fields["rpcMethod"] === "subscriptions/listen" && fields["gone"])).finally(() =>
      clearInterval(waking),
    );
    // The task was read until the buffers of the sockets were full, and then no more, however often it changed.
    expect(revision - before).toBeLessThan(60);
    socket.destroy();
  });
});
