/** Held calls on Redis, whose wake-ups say what has changed. */
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test, vi } from "vitest";
import { openRedis } from "../../test/contract/open-redis.ts";
import { until } from "../../test/support/until.ts";
import { type Options, rpc, stream } from "./client.fixture.ts";
import { deploy, type Front } from "./deployment.fixture.ts";

test("a call of 2026-07-28 that is repeated while its tool works receives what was reported before", async () => {
  const redis = await openRedis();
  try {
    const finish = Promise.withResolvers<void>();
    const report = defineTool({
      name: "report",
      async run(_args, ctx) {
        ctx.progress(1, 2, "halfway");
        await ctx.step("work", () => finish.promise);
        return "done";
      },
    });
    const { fronts, services } = await deploy({ catalogue: catalogue([report]), stored: redis, sessions: redis.sessions });
    const [here, there] = fronts as [Front, Front];
    const options: Options = { tasks: false, meta: { progressToken: "p", "parley/idempotencyKey": "once" } };
    const call = { name: "report", arguments: {} };
    const first = await stream(here, "tools/call", call, options);
    const halfway = { method: "notifications/progress", params: { progressToken: "p", message: "halfway" } };
    expect(await first.next()).toMatchObject(halfway);
    first.close();
    await until(() => here.waiting === 0);

    const load = vi.spyOn(services.store, "load");
    const repeated = rpc(there, "tools/call", call, options);
    // It finds the task by its key, and again after its watch has begun.
    await until(() => load.mock.settledResults.length === 2);
    finish.resolve();
    expect(await repeated).toMatchObject({ notifications: [halfway], result: { content: [{ text: "done" }] } });
  } finally {
    await redis.close();
  }
});
