import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { confirmTable, holdTable, releaseTable } from "./booking-store.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-bookings-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", dir);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true });
});

const hold = (idempotencyKey: string) => holdTable("2026-12-24", "19:30", { idempotencyKey });

describe("the booking store", () => {
  test("gives each table to one of many concurrent requests", async () => {
    const held = await Promise.all(Array.from({ length: 20 }, (_, index) => hold(`guest-${index}`)));
    const tables = held.flatMap((table) => (table ? [table.table] : []));
    expect(tables.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  test("gives a request one table, however often it is repeated, even concurrently", async () => {
    const held = await Promise.all(Array.from({ length: 20 }, () => hold("guest")));
    expect(new Set(held.map((table) => table?.table)).size).toBe(1);
    expect((await readdir(join(dir, "bookings", "2026-12-24T19-30"))).toSorted()).toEqual(["table-1.json"]);
    expect(await hold("guest")).toEqual(held[0]);
  });

  test("frees a released table", async () => {
    const [first] = [await hold("a"), await hold("b"), await hold("c")];
    expect(await hold("d")).toBeUndefined();
    if (first) await releaseTable(first);
    expect(await hold("d")).toEqual(first);
  });

  test("confirms twice with the same number", async () => {
    const table = await hold("a");
    if (!table) throw new Error("no table");
    expect(await confirmTable(table, 4)).toBe(await confirmTable(table, 4));
  });

  test("leaves no drafts behind", async () => {
    await Promise.all([hold("a"), hold("a"), hold("b")]);
    const files = await readdir(dir, { recursive: true });
    expect(files.filter((file) => file.endsWith(".draft"))).toEqual([]);
  });
});
