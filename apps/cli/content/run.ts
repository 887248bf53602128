/** Manages the keys that seal content. Each command can run while front ends and workers run. */
import { randomBytes } from "node:crypto";
import type { AuditFact } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { type ContentKeys, redisSettings, toRedisSettings } from "@parley/redis";
import { endAllOf, noticeSettings, type Operated, outcomeOf } from "../grants/run.ts";
import { connectAudited } from "../deployment/is-audited.ts";
import { print, printJson } from "../terminal/terminal.ts";
import { counted } from "../terminal/counted.ts";

export interface Output {
  readonly json?: true;
}

export function printNewKey({ json }: Output): void {
  const key = randomBytes(32).toString("base64");
  if (json) printJson({ key });
  else print(key);
}

export async function rotate({ dataKeys, json }: Output & { readonly dataKeys: boolean }): Promise<void> {
  await withKeys({ action: "keys", verdict: dataKeys ? "rotated, new data keys" : "rotated" }, async (keys) => {
    const { wrapped, current, lacking } = await keys.wrapAnew();
    if (!json) print(`${counted(wrapped, "data key")} wrapped by the first key of the ring, ${counted(current, "was", "were")} already`);
    if (lacking > 0) {
      process.stderr.write(
        `${counted(lacking, "data key is", "data keys are")} wrapped with a key that is missing in the ring: tasks wait until that key is back\n`,
      );
      process.exitCode = 1;
    }
    const tenants = dataKeys ? await keys.nextEpoch() : 0;
    if (json) printJson({ wrapped, current, lacking, tenants });
    else if (dataKeys) print(`new data keys for ${counted(tenants, "tenant")}; all processes use them within 10 seconds`);
  });
}

export async function eraseTenant(tenant: string, { json }: Output): Promise<void> {
  const notice = noticeSettings();
  await withKeys({ action: "keys", tenant, verdict: "erased" }, async (keys, operated) => {
    // Before the keys are erased, because the tokens cannot be opened afterwards. If the command is killed here, it can be run again.
    if (notice) process.stderr.write("asking providers to end the tenant's grants, for at most ten seconds per request\n");
    const atProvider = notice && (await endAllOf(operated, tenant, notice));
    if (atProvider && atProvider.ended + atProvider.unsupported + atProvider.failed > 0) {
      process.stderr.write(`the tenant's grants are revoked; ${outcomeOf(atProvider)}\n`);
    }
    process.stderr.write("waiting until no process has the keys in memory, about ten seconds\n");
    const erased = await keys.erase(tenant);
    // Grants that were kept in the meantime, and all of them if nobody is notified.
    await operated.keptGrants.revoke({ tenant });
    const { keys: count, waiting } = erased;
    if (json) printJson({ tenant, keys: count, waiting, ...(atProvider && { atProvider }) });
    if (count === 0) {
      process.stderr.write(`tenant ${JSON.stringify(tenant)} has no data keys: it has no sealed content, or was erased before\n`);
      process.exitCode = 1;
    } else if (!json)
      print(
        `${counted(count, "data key")} of ${JSON.stringify(tenant)} erased; ${counted(waiting, "waiting task ends", "waiting tasks end")} now`,
      );
  });
}

async function withKeys(noted: AuditFact, work: (keys: ContentKeys, operated: Operated) => Promise<void>): Promise<void> {
  const { redis, audit } = await connectAudited(toRedisSettings(readEnvironment(redisSettings, process.env)));
  try {
    if (!redis.content.keys) throw new Error("no content keys: set PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING as for the front ends");
    await work(redis.content.keys, { keptGrants: redis.keptGrants, audit });
    await audit?.note(noted);
  } finally {
    await redis.close();
  }
}
