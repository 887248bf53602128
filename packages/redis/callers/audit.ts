/**
 * Audit records: one bounded stream per partition, numbered without gaps. Changes of tasks are recorded by the
 * scripts that make them, everything else here. An exporter reads the records and chains them
 * (docs/adr/0013-the-chain-is-made-outside.md).
 */
import type { Audit, AuditFact, Log } from "@parley/core";
import type { Redis } from "ioredis";
import { type Keys, partitionOf } from "../keys.ts";
import { defineScripts } from "../scripts/scripts.ts";
import { originOf, reached } from "../connection/unavailable.ts";

export interface StoredRecord {
  readonly number: number;
  /** By Redis' clock. */
  readonly atMs: number;
  /** The result as the script determined it; `""` if none did. */
  readonly verdict: string;
  readonly fact: AuditFact;
}

export interface AuditTrail extends Audit {
  /** Records of a partition after number `after`, oldest first. */
  read(partition: number, after: number, count: number): Promise<readonly StoredRecord[]>;
}

export interface AuditTrailOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly now: () => number;
  readonly lengthMax: number;
  readonly log: Pick<Log, "error">;
}

export function createAuditTrail({ redis, keys, now, lengthMax, log }: AuditTrailOptions): AuditTrail {
  const scripts = defineScripts(redis, {});
  return {
    async note(fact) {
      const partition = partitionOf(fact.taskId ?? "") ?? 0;
      const audit = { text: JSON.stringify(fact), lengthMax };
      try {
        await reached(scripts.note(keys.due(partition), keys.audit(partition), { audit, nowMs: now() }));
      } catch (error) {
        log.error({ action: fact.action, taskId: fact.taskId, ...originOf(error) }, "audit record was not written");
      }
    },
    async read(partition, after, count) {
      const rows = await reached(redis.xrange(keys.audit(partition), `(${after}-1`, "+", "COUNT", count));
      return rows.map(([id, fields]) => {
        const [, at, , verdict, , record] = fields as [string, string, string, string, string, string];
        return { number: Number(id.split("-")[0]), atMs: Number(at), verdict, fact: JSON.parse(record) as AuditFact };
      });
    },
  };
}
