/** The handlers of reads.ts in the test kit: right in every run, wherever the worker dies, whatever people answer, and however long reads take. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decline, outside, runTool } from "@parley/sdk/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kinds, reads, world } from "./reads.ts";

const ITEMS = ["ada", "bob", "cyd", "dan"];
const SEEDS = [1, 2, 3, 4, 5];

let directory: string;
beforeAll(async () => {
  // How long it takes is drawn by the kit.
  world.wait = outside(async () => undefined);
  directory = await mkdtemp(join(tmpdir(), "parley-reads-"));
});
afterAll(async () => await rm(directory, { recursive: true }));

/** By item: the keys under which it was done. */
async function keysOf(file: string, kind: string): Promise<Record<string, string[]>> {
  const keys: Record<string, string[]> = {};
  for (const line of (await readFile(file, "utf8")).split("\n")) {
    const [of, id = "", key = ""] = line.split(" ");
    if (of === kind && !(keys[id] ??= []).includes(key)) keys[id].push(key);
  }
  return keys;
}

test.each(kinds.flatMap((kind) => [[kind, "accepts"] as const, [kind, "declines"] as const]))("%s: the person %s", async (kind, how) => {
  world.forget();
  // All at once: each fills the caches of the others.
  await Promise.all(
    SEEDS.flatMap((seed) => [undefined, "every" as const].map((crashAt) => ({ seed, crashAt }))).map(async ({ seed, crashAt }) => {
      const file = join(directory, `${kind}-${how}-${seed}-${crashAt ?? "never"}`);
      const run = await runTool(
        reads,
        { kind, file },
        { answers: { ok: how === "accepts" ? true : decline }, seed, crashAt, strict: true },
      );
      const charged = await keysOf(file, kind);
      expect({ seed, crashAt, items: Object.keys(charged).toSorted() }).toEqual({ seed, crashAt, items: ITEMS });
      expect(new Set(Object.values(charged).flat()).size).toBe(ITEMS.length);
      expect(Object.values(charged).flat()).toHaveLength(ITEMS.length);
      if (how === "accepts") return expect(run.text).toBe(ITEMS.map((id) => `receipt of ${id}`).join(", "));
      const undone = await keysOf(file, `undo-${kind}`);
      expect(Object.keys(undone)).toEqual(ITEMS.toReversed());
      expect(new Set(Object.values(undone).flat()).size).toBe(ITEMS.length);
      expect(Object.values(undone).flat()).toHaveLength(ITEMS.length);
    }),
  );
});
