/**
 * A small Redis under a hostile caller and an honest one, with the default settings.
 *
 *   node test/soak/main.ts [--minutes 10] [--megabytes 256] [--report FILE]
 *
 * The hostile caller stays within every rate and fills Redis as fast as it may: finished tasks with large results, tasks that stay open, and many
 * small ones, all kept for a day. The honest one calls, is asked, answers and reads its result, four times a second. Prints a line a minute;
 * exits with 1 if any call of the honest one failed. --report FILE writes vitest's totals, for .ci/run.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { createClient } from "../../bench/client.ts";
import { ANSWER, ARGUMENTS, pollUntil } from "../../bench/lifecycle.ts";
import { median, quantile } from "../../bench/measure.ts";
import { startDeployment } from "../support/deployment.ts";
import { startIssuer } from "../support/issuer.ts";
import { startOwnRedis } from "../support/shared-redis.ts";

const PUBLIC_URL = "http://parley.example";
const HONEST_EVERY_MS = 250;
/** A little more than the rate that the quotas allow. */
const HOSTILE_EVERY_MS = 18;
const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    megabytes: { type: "string", default: "256" },
    report: { type: "string" },
  },
});
const [minutes, megabytes] = [Number(values.minutes), Number(values.megabytes)];
if (!(minutes > 0) || !(megabytes > 0)) throw new Error("--minutes and --megabytes are numbers above 0");

const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
const token = (tenant: string) => issuer.token({ sub: tenant, tenant, exp: Math.floor((Date.now() + (minutes + 5) * MINUTE_MS) / 1_000) });
const server = await startOwnRedis();
const look = new Redis(server.url);
await look.config("SET", "maxmemory", `${megabytes}mb`);
const deployment = await startDeployment({
  tools: [new URL("tools.ts", import.meta.url).pathname],
  redisUrl: server.url,
  env: {
    PARLEY_AUTH: "required",
    PARLEY_AUTH_TENANT_CLAIM: "tenant",
    PARLEY_AUTH_ISSUERS: issuer.url,
    PARLEY_PUBLIC_URL: PUBLIC_URL,
  },
});
/** Of the hostile caller at most: what it has more would wait in its own process. */
const HOSTILE_AT_ONCE = 20;
const hostile = createClient(deployment.url, HOSTILE_AT_ONCE, await token("hostile"));
const honest = createClient(deployment.url, 10, await token("honest"));

const startedAt = performance.now();
const isOver = () => performance.now() - startedAt > minutes * MINUTE_MS;
const underWay = new Set<Promise<void>>();
const accepted = { hostile: 0, honest: 0 };
const refused = new Map<string, number>();
const failed: string[] = [];
let took: number[] = [];

const large = randomBytes(37_000).toString("hex");
const FLOOD = [
  () => hostile.call("keep", { text: large }),
  () => hostile.call("keep", { text: "x" }),
  () => hostile.call("keep", { text: large, surplus: large }),
];
/** Few, because what stays open has a quota of its own, which would soon refuse everything else. */
const OPEN_EVERY = 50;

async function attack(at: number): Promise<void> {
  try {
    if (at % OPEN_EVERY === 0) await hostile.call("keep_open", { text: large });
    else await FLOOD[at % FLOOD.length]?.();
    accepted.hostile += 1;
  } catch (error) {
    const why = (error as Error).message.replaceAll(/\d+/g, "n");
    refused.set(why, (refused.get(why) ?? 0) + 1);
  }
}

async function live(): Promise<void> {
  const sentAt = performance.now();
  try {
    const { taskId } = await honest.call("ask_when", ARGUMENTS);
    await pollUntil(honest, taskId, "input_required");
    await honest.answer(taskId, ANSWER);
    await pollUntil(honest, taskId, "completed");
    accepted.honest += 1;
    took.push(performance.now() - sentAt);
  } catch (error) {
    failed.push((error as Error).message);
  }
}

async function every(ms: number, most: number, work: (at: number) => Promise<void>): Promise<void> {
  const own = new Set<Promise<void>>();
  for (let at = 0; !isOver(); at += 1) {
    if (own.size < most) {
      const each = work(at);
      own.add(each);
      underWay.add(each);
      void each.finally(() => void (own.delete(each), underWay.delete(each)));
    }
    await sleep(ms);
  }
}

async function report(): Promise<void> {
  console.log("minute | Redis used | keys | honest: done, failed, p50, p99 | hostile: accepted, refused");
  for (let minute = 1; !isOver(); minute += 1) {
    await Promise.race([sleep(MINUTE_MS), sleep(Math.max(0, minutes * MINUTE_MS - (performance.now() - startedAt)))]);
    const used = Number(/^used_memory:(\d+)/m.exec(await look.info("memory"))?.[1]) / 1_048_576;
    const times = took;
    took = [];
    const [p50, p99] = times.length === 0 ? [Number.NaN, Number.NaN] : [median(times), quantile(times, 0.99)];
    const no = [...refused.values()].reduce((sum, each) => sum + each, 0);
    console.log(
      `${minute} | ${used.toFixed(0)} MB of ${megabytes} | ${await look.dbsize()} | ${accepted.honest}, ${failed.length}, ${p50.toFixed(0)} ms, ${p99.toFixed(0)} ms | ${accepted.hostile}, ${no}`,
    );
  }
}

try {
  await Promise.all([every(HOSTILE_EVERY_MS, HOSTILE_AT_ONCE, attack), every(HONEST_EVERY_MS, Infinity, live), report()]);
  await Promise.race([Promise.all(underWay), sleep(30_000)]);
  for (const [why, times] of refused) console.log(`refused ${times} times: ${why}`);
  for (const why of new Set(failed)) console.log(`FAILED: ${why}`);
  console.log(`${accepted.honest} calls of the honest caller succeeded, ${failed.length} failed`);
  const numFailedTests = failed.length > 0 || accepted.honest === 0 ? 1 : 0;
  if (values.report !== undefined) {
    const failures = numFailedTests === 0 ? [] : [`${failed.length} calls of the honest caller failed: ${[...new Set(failed)].join("; ")}`];
    await writeFile(values.report, JSON.stringify({ numPassedTests: 1 - numFailedTests, numFailedTests, failures }));
  }
  process.exitCode = numFailedTests;
} finally {
  hostile.close();
  honest.close();
  await deployment.close();
  look.disconnect();
  await server.close();
  await issuer.close();
}
