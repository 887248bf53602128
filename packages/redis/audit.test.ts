import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createAuditTrail } from "./audit.ts";
import { createKeys } from "./keys.ts";

test("a record that cannot be written is logged without its content, and its caller is not disturbed", async () => {
  const redis = new Redis({ lazyConnect: true });
  redis.disconnect();
  const logged: unknown[] = [];
  const log = { error: ({ stack: _, ...fields }: { stack?: unknown }, message: string) => void logged.push([fields, message]) };
  const trail = createAuditTrail({ redis, keys: createKeys("test"), now: () => 1, lengthMax: 10, log });
  const taskId = "0-YuagbDh7XfhieSlD0dvNkQ";
  await trail.note({ action: "answer", taskId, principal: "ann", ask: "party-size" });
  await trail.note({ action: "call", principal: "ann" });
  expect(logged).toStrictEqual([
    [{ action: "answer", taskId, error: "ParleyError" }, "audit record was not written"],
    [{ action: "call", taskId: undefined, error: "ParleyError" }, "audit record was not written"],
  ]);
});
