import { describe, expect, test } from "vitest";
import { createIds } from "./ids.ts";
import { createKeys, partitionOf } from "../keys.ts";

describe("ids and keys", () => {
  test("a task id names its partition and carries 128 random bits", () => {
    const ids = createIds({ partitions: 16 });
    const drawn = Array.from({ length: 2_000 }, () => ids.taskId());

    expect(new Set(drawn).size).toBe(2_000);
    expect(new Set(drawn.map(partitionOf))).toEqual(new Set(Array.from({ length: 16 }, (_, partition) => partition)));
    for (const id of drawn) expect(id).toMatch(/^\d+-[\w-]{22}$/);
  });

  test("all keys of a task, its due set and its queue have one hash tag", () => {
    const keys = createKeys("acme");
    const tag = "acme:{p7}";

    expect(keys.task("7-AAAAAAAAAAAAAAAAAAAAAA")).toEqual([
      `${tag}:task:7-AAAAAAAAAAAAAAAAAAAAAA`,
      `${tag}:task:7-AAAAAAAAAAAAAAAAAAAAAA:journal`,
      `${tag}:task:7-AAAAAAAAAAAAAAAAAAAAAA:feed`,
      `${tag}:due`,
    ]);
    expect(keys.queuePrefix(7)).toBe(tag);
    expect(keys.owner(7, "ada@example.test")).toMatch(/^acme:\{p7\}:owner:[\w-]{22}$/);
  });

  test("a session is one key in a slot of its own, and an invalid session id has none", () => {
    const keys = createKeys("acme");
    expect(keys.session("9f1c2b8e-6f0e-4a53-9d3e-2b7f0f4f9b1a")).toBe("acme:session:{9f1c2b8e-6f0e-4a53-9d3e-2b7f0f4f9b1a}");
    for (const id of ["", "a}b", "{a", "a b", "a:b", "a\n", "ä", "x".repeat(129)]) expect(keys.session(id)).toBeUndefined();
  });

  test("an invalid task id has no key", () => {
    for (const id of [
      "",
      "7",
      "7-",
      "07-AAAAAAAAAAAAAAAAAAAAAA",
      "-1-AAAAAAAAAAAAAAAAAAAAAA",
      "7-AAAAAAAAAAAAAAAAAAAAA}",
      "7-AAAAAAAAAAAAAAAAAAAAAA\n",
    ]) {
      expect(createKeys().task(id)).toBeUndefined();
    }
  });

  test("tasks for the same idempotency key are always in one partition", () => {
    const ids = createIds({ partitions: 16 });
    for (const [once, partition] of [
      ["a key", 2],
      ["another", 8],
    ] as const) {
      for (let time = 0; time < 5; time += 1) expect(partitionOf(ids.taskId(undefined, once))).toBe(partition);
    }
  });

  test("a sealed task's id contains the word of its tenant's key, which may be asynchronous", async () => {
    const asked: string[] = [];
    const drawn = createIds({
      partitions: 1,
      sealWord: (tenant: string) => {
        asked.push(tenant);
        return tenant === "acme" ? "word" : Promise.resolve("late");
      },
    });
    expect(drawn.taskId("acme")).toMatch(/^0-word-[\w-]{22}$/);
    expect(await drawn.taskId()).toMatch(/^0-late-[\w-]{22}$/);
    expect(await createIds({ partitions: 16, sealWord: () => Promise.resolve("late") }).taskId("acme", "a key")).toMatch(/^2-late-/);
    expect(asked).toEqual(["acme", "default"]);
  });

  test("tokens carry 96 random bits and ids of requests are UUIDs, over several fetches of random bytes", () => {
    const ids = createIds({ partitions: 1 });
    const drawn = Array.from({ length: 1_000 }, () => [ids.token(), ids.random(), ids.token()] as const);
    for (const [token] of drawn) expect(token).toMatch(/^[\w-]{16}$/);
    expect(new Set(drawn.flat()).size).toBe(3_000);
    const all = Buffer.concat(drawn.map(([token]) => Buffer.from(token, "base64url")));
    expect(new Set(all).size).toBe(256);
    expect(ids.uuid()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  test("random numbers are in [0, 1) and tokens never repeat", () => {
    const ids = createIds({ partitions: 1 });
    const numbers = Array.from({ length: 1_000 }, () => ids.random());

    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(Math.min(...numbers)).toBeLessThan(0.05);
    expect(Math.max(...numbers)).toBeGreaterThan(0.95);
    expect(new Set(Array.from({ length: 1_000 }, () => ids.token())).size).toBe(1_000);
  });
});
