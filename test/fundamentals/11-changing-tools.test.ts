/**
 * 11. Changing a tool under waiting tasks
 *
 * Tasks wait for days, and you deploy in the meantime. The new code then runs against what the old code recorded. After the point at which a task
 * waits, anything may change. Before it, new work would precede recorded work, so the task fails with REPLAY_DIVERGED rather than guess.
 * `ctx.patched` keeps the old path for the tasks that need it.
 */
import { type Context, defineTool } from "@parley/sdk";
import { replayRecorded } from "@parley/sdk/replay";
import { startTool } from "@parley/sdk/testing";
import { expect, test } from "vitest";

const shop = (run: (ctx: Context) => Promise<string>) => defineTool({ name: "shop", run: (_args, ctx) => run(ctx) });
const approve = (ctx: Context) => ctx.confirm("approve", { message: "Ship it?" });

const today = shop(async (ctx) => {
  await approve(ctx);
  return await ctx.step("ship", () => "shipped");
});

test("tasks that wait at the question do the new work after it", async () => {
  const running = await startTool(today);
  running.redeploy(
    shop(async (ctx) => {
      await approve(ctx);
      await ctx.step("pack", () => "packed");
      return await ctx.step("ship", () => "shipped");
    }),
  );
  await running.answer({ approve: true });
  expect(running.text).toBe("shipped");
});

const careless = shop(async (ctx) => {
  await ctx.step("check", () => "checked");
  await approve(ctx);
  return await ctx.step("ship", () => "shipped");
});

const careful = shop(async (ctx) => {
  if (ctx.patched("check")) await ctx.step("check", () => "checked");
  await approve(ctx);
  return await ctx.step("ship", () => "shipped");
});

test("new work before the question fails the task, before anything is done", async () => {
  const running = await startTool(today);
  running.redeploy(careless);
  await running.answer({ approve: true });
  expect(running.error).toMatchObject({ data: { code: "REPLAY_DIVERGED" } });
  expect(running.journal).not.toContain("step:check");
});

test("with ctx.patched, new tasks do the new work, and waiting tasks keep the old path", async () => {
  const old = await startTool(today);
  old.redeploy(careful);
  await old.answer({ approve: true });
  expect([old.text, old.journal]).toEqual(["shipped", ["ask:approve", "patch:check", "step:ship"]]);

  const fresh = await startTool(careful);
  await fresh.answer({ approve: true });
  expect(fresh.journal).toEqual(["patch:check", "step:check", "ask:approve", "step:ship"]);
});

test("a change can be checked before it is deployed", async () => {
  // `parley export` and `parley replay` do this for every waiting task in production.
  const waiting = await (await startTool(today)).exported();
  expect(await replayRecorded(careless, waiting)).toMatchObject({ verdict: "diverges" });
  expect(await replayRecorded(careful, waiting)).toMatchObject({ verdict: "continues" });
});
