import { expect, test } from "vitest";
import { page } from "./page.ts";

const all = ["a", "b", "c", "d", "e"];
const walk = (names: readonly string[], size: number): readonly (readonly string[])[] => {
  const pages: (readonly string[])[] = [];
  for (let cursor: string | undefined, done = false; !done;) {
    const { items, nextCursor } = page(names, { key: (name) => name, size, cursor });
    pages.push(items);
    cursor = nextCursor;
    done = nextCursor === undefined;
  }
  return pages;
};

test("every entry comes once, in order, and no empty page follows the last", () => {
  expect(walk(all, 2)).toStrictEqual([["a", "b"], ["c", "d"], ["e"]]);
  expect(walk(all, 5)).toStrictEqual([all]);
  expect(walk(all, 1)).toHaveLength(5);
  expect(walk([], 5)).toStrictEqual([[]]);
});

test("a cursor survives a deploy that adds entries before it", () => {
  const { nextCursor } = page(all, { key: (name) => name, size: 2, cursor: undefined });
  expect(page(["0", ...all], { key: (name) => name, size: 2, cursor: nextCursor }).items).toStrictEqual(["c", "d"]);
});

test("a cursor is safe in a header or a url, for any name", () => {
  const { nextCursor } = page(["käse/1", "b"], { key: (name) => name, size: 1, cursor: undefined });
  expect(nextCursor).toMatch(/^[A-Za-z0-9_-]+$/);
});
