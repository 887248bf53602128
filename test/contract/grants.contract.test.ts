import { randomUUID } from "node:crypto";
import type { AuditFact } from "@parley/core";
import { createMemoryGrants } from "@parley/core/memory";
import { describeGrants } from "./grants-contract.ts";

describeGrants("in memory", async () => {
  const facts: AuditFact[] = [];
  const grants = createMemoryGrants({
    clock: { now: () => Date.now() },
    ids: { uuid: () => randomUUID() },
    audit: { note: async (fact) => void facts.push(fact) },
  });
  return { grants, facts: async () => facts, close: async () => undefined };
});
