import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createAuditTrail } from "./audit.ts";
import { createKeys } from "../keys.ts";

test("a record that cannot be written is logged without its content, and its caller is not disturbed", async () => {
  const redis = new Redis({ lazyConnect: true });
  redis.disconnect();
  const logged: unknown[] = [];
  const log = { error: (...line: unknown[]) => void logged.push(line) };
  const trail = createAuditTrail({ redis, keys: createKeys("test"), now: () => 1, lengthMax: 10, log });
  const taskId = "0-YuagbDh7XfhieSlD0dvNkQ";
  await trail.note({ action: "answer", taskId, principal: "ann", ask: "party-size" });
  await trail.note({ action: "call", principal: "ann" });
  expect(logged).toStrictEqual([
    [expect.objectContaining({ action: "answer", taskId, error: "ParleyError" }), "audit record was not written"],
    [expect.objectContaining({ action: "call", taskId: undefined, error: "ParleyError" }), "audit record was not written"],
  ]);
  expect(JSON.stringify(logged)).not.toMatch(/party-size|"ann"/);
});
