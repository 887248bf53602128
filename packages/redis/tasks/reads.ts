/**
 * Plain reads of content: as text, or as bytes in strings with one character per byte, depending on the codec's
 * encoding.
 */
import type { Redis } from "ioredis";
import type { Encoding } from "../scripts/encoding.ts";

export interface Reads {
  hash(key: string): Promise<Readonly<Record<string, string>>>;
  fields(key: string, names: readonly string[]): Promise<readonly (string | null)[]>;
  /** Ids and first values of a stream's entries after `after`, oldest first. */
  stream(key: string, after: string | undefined, count: number): Promise<readonly (readonly [id: string, value: string])[]>;
}

export function createReads(redis: Redis, encoding: Encoding): Reads {
  const from = (after: string | undefined) => (after === undefined ? "-" : `(${after}`);
  if (encoding === "utf8") {
    return {
      hash: (key) => redis.hgetall(key),
      fields: (key, names) => redis.hmget(key, ...names),
      async stream(key, after, count) {
        const rows = await redis.xrange(key, from(after), "+", "COUNT", count);
        return rows.map(([id, [, value = ""]]) => [id, value]);
      },
    };
  }
  const text = (bytes: Buffer | undefined) => bytes?.toString("latin1") ?? "";
  return {
    async hash(key) {
      return Object.fromEntries(Object.entries(await redis.hgetallBuffer(key)).map(([name, value]) => [name, text(value)]));
    },
    async fields(key, names) {
      return (await redis.hmgetBuffer(key, ...names)).map((value) => (value === null ? null : text(value)));
    },
    async stream(key, after, count) {
      const rows = await redis.xrangeBuffer(key, from(after), "+", "COUNT", count);
      return rows.map(([id, [, value]]) => [text(id), text(value)]);
    },
  };
}
