import { expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import { alice, inMemory } from "./in-memory.fixture.ts";
import { listTasks } from "./list-tasks.ts";

test("a caller's own tasks are listed, page by page, without those of the same principal in another tenant", async () => {
  const { services, put } = inMemory();
  const mine = [await put([]), await put([])];
  await put([], { principal: "bob" });
  const acmes = await put([], { tenant: "acme" });
  const first = await listTasks(services, { caller: alice, limit: 2 });
  expect([first.tasks.map(({ id }) => id), first.nextCursor]).toStrictEqual([[mine[1]], mine[1]]);
  const next = await listTasks(services, { caller: alice, limit: 2, cursor: mine[1] ?? "" });
  expect([next.tasks.map(({ id }) => id), next.nextCursor]).toStrictEqual([[mine[0]], undefined]);
  const others = await listTasks(services, { caller: callerNamed("alice", { tenant: "acme" }), limit: 9 });
  expect(others.tasks.map(({ id }) => id)).toStrictEqual([acmes]);
});
