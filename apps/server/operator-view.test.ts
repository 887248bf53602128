import { createTelemetry, NO_TELEMETRY } from "@parley/telemetry";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

test("the operator's port shows the streams and calls that a front end holds, and that it drains", async () => {
  const telemetry = await createTelemetry(
    { ...NO_TELEMETRY, metrics: { host: "127.0.0.1", port: 0 } },
    { process: "server", version: "1", allowedHosts: [], withLogFields: (_fields, work) => work() },
  );
  const operator = await telemetry.open();
  onTestFinished(() => telemetry.close());
  let isReachable = true;
  const reachable = async () => {
    if (!isReachable) throw new Error("READONLY You can't write against a read only replica.");
  };
  const { fronts } = await deploy({ catalogue: offered, fronts: 1, times: { shutdownDelayMs: 4_000 }, reachable, telemetry });
  const front = fronts[0]!;
  const shown = async (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(await (await fetch(`${operator}/metrics`)).text())?.[1];
  const ready = async () => {
    const response = await fetch(`${operator}/readyz`);
    return [response.status, ((await response.json()) as { problem?: string }).problem];
  };
  const all = async () => [await shown("parley_listens_open"), await shown("parley_calls_held"), await shown("parley_draining")];

  expect(await all()).toEqual(["0", "0", "0"]);
  const client = await openSession(front);
  const own = await client.listen(front);
  const call = await client.stream(front, "tools/call", { name: "greet", arguments: {} });
  await call.next();
  expect(await all()).toEqual(["1", "1", "0"]);
  own.close();
  call.close();
  await until(async () => (await all()).join() === "0,0,0");

  expect(await ready()).toEqual([200, undefined]);
  isReachable = false;
  expect(await ready()).toEqual([503, expect.stringContaining("READONLY")]);
  isReachable = true;
  void front.app.close();
  await until(async () => (await shown("parley_draining")) === "1");
  expect(await ready()).toEqual([503, "draining"]);
  // Until the load balancer has noticed, everything is still served.
  expect((await rpc(front, "tools/list", {})).result).toBeDefined();
});
