/**
 * Pages of a list that every replica holds in the same order. A cursor names the last entry of its page, so it stays valid when entries are added
 * before it, and on any replica. If that entry is gone, the client starts again.
 */
import { invalidCursor } from "@parley/core";

export function page<T>(
  all: readonly T[],
  { key, size, cursor }: { readonly key: (item: T) => string; readonly size: number; readonly cursor: string | undefined },
): { readonly items: readonly T[]; readonly nextCursor?: string } {
  const start = cursor === undefined ? 0 : all.findIndex((item) => cursorOf(key(item)) === cursor) + 1;
  if (cursor !== undefined && start === 0) throw invalidCursor();
  const items = all.slice(start, start + size);
  const last = items.at(-1);
  return start + size < all.length && last !== undefined ? { items, nextCursor: cursorOf(key(last)) } : { items };
}

function cursorOf(key: string): string {
  return Buffer.from(key).toString("base64url");
}
