import { describe, expect, test } from "vitest";
import { createIds } from "./ids.ts";
import { createKeys, partitionOf } from "./keys.ts";

describe("ids and keys", () => {
  test("a task id names its partition and carries 128 random bits", () => {
    const ids = createIds({ partitions: 16 });
    const drawn = Array.from({ length: 2_000 }, () => ids.taskId());

    expect(new Set(drawn).size).toBe(2_000);
    expect(new Set(drawn.map(partitionOf))).toEqual(new Set(Array.from({ length: 16 }, (_, partition) => partition)));
    for (const id of drawn) expect(id).toMatch(/^\d+-[\w-]{22}$/);
  });

  test("all keys of a task, its due set and its queue carry one hash tag", () => {
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

  test("a session is one key on a slot of its own, and what cannot be a session id gets none", () => {
    const keys = createKeys("acme");
    expect(keys.session("9f1c2b8e-6f0e-4a53-9d3e-2b7f0f4f9b1a")).toBe("acme:session:{9f1c2b8e-6f0e-4a53-9d3e-2b7f0f4f9b1a}");
    for (const id of ["", "a}b", "{a", "a b", "a:b", "a\n", "ä", "x".repeat(129)]) expect(keys.session(id)).toBeUndefined();
  });

  test("what is no task id gets no key", () => {
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

  test("random numbers lie in [0, 1) and tokens never come twice", () => {
    const ids = createIds({ partitions: 1 });
    const numbers = Array.from({ length: 1_000 }, () => ids.random());

    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(new Set(Array.from({ length: 1_000 }, () => ids.token())).size).toBe(1_000);
  });
});
