import { expect, test } from "vitest";
import { LOOKED_AT_MAX, unserved as findingsOf } from "./check-versions.ts";

function deployment(served: readonly string[], waiting: number) {
  return {
    partitions: [0],
    serving: { list: async () => served.map((version) => ({ tool: "ship", version })) },
    async *waiting() {
      for (let at = 0; at < waiting; at += 7_000) {
        yield Array.from({ length: Math.min(7_000, waiting - at) }, (_, index) => ({
          taskId: String(at + index),
          call: { kind: "tool", name: "ship", version: "1" } as const,
        }));
      }
    },
  };
}

const unserved = (of: ReturnType<typeof deployment>) => findingsOf(of, () => true);

test("the doctor names a tool that waiting tasks need and the modules do not have", async () => {
  const findings = await findingsOf(deployment(["1"], 3), ({ kind, name }) => kind === "prompt" || name !== "ship");
  expect(findings).toMatchObject([
    { level: "advice", about: "tools", says: "3 waiting tasks need the tool ship, which PARLEY_TOOLS does not have here" },
  ]);
});

test("the doctor reports which versions are served, and which waiting tasks need others", async () => {
  expect(await unserved(deployment(["1", "2"], 3))).toEqual([{ level: "fine", about: "versions", says: "ship 1, ship 2" }]);
  expect(await unserved(deployment([], 0))).toEqual([]);
  expect(await unserved(deployment(["2"], 3))).toMatchObject([
    { level: "advice", says: "3 waiting tasks need version 1 of ship, which no worker serves" },
  ]);
});

test("checks waiting tasks up to the limit, and none beyond it", async () => {
  for (const waiting of [LOOKED_AT_MAX, LOOKED_AT_MAX + 1]) {
    expect(await unserved(deployment([], waiting))).toMatchObject([{ says: expect.stringContaining(`${LOOKED_AT_MAX} waiting tasks`) }]);
  }
});
