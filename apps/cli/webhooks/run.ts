/** The commands `parley webhooks …`. */
import { readEnvironment } from "@parley/node";
import { connectRedis, type RedisBackend, redisSettings, toRedisSettings } from "@parley/redis";
import { type DeadLetter, type DeliveryState, postTest, readWebhooks, replayDead, type Replayed, type Webhook } from "@parley/webhooks";
import { counted } from "../terminal/counted.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { clean, cleanLine, print, printJson } from "../terminal/terminal.ts";
import { onStop } from "../terminal/interrupt.ts";
import type { ReplayCommand, WebhooksCommand } from "./command.ts";

/** Throws WebhooksError with all problems of the file. */
export async function listWebhooks({ file, json }: WebhooksCommand): Promise<void> {
  const webhooks = readWebhooks(fileOf(file), process.env);
  const states = await withRedis(({ webhooks: stored }) =>
    Promise.all(
      webhooks.map(async (webhook) => {
        const { place: _place, ...state } = (await stored.load(webhook.name)) as DeliveryState;
        return { ...shown(webhook), ...state, dead: (await stored.dead(webhook.name)).length };
      }),
    ),
  );
  if (json) return printJson({ webhooks: states });
  if (states.length === 0) return print("no webhooks");
  for (const { name, url, events, deliveredAtMs, failingSinceMs, lastError, dead } of states) {
    print(`${name}  ${cleanLine(url)}  ${events.join(", ")}`);
    print(`  ${deliveredAtMs === undefined ? "took nothing yet" : `last took something ${timeOf(deliveredAtMs)}`}`);
    if (failingSinceMs !== undefined) print(`  fails since ${timeOf(failingSinceMs)}: ${lastError}; it is posted again`);
    if (dead > 0) print(`  ${counted(dead, "event")} given up: parley webhooks dead ${name}`);
  }
}

/** Throws WebhooksError with all problems of the file. */
export async function testWebhook(name: string, { file, json }: WebhooksCommand): Promise<void> {
  const webhook = named(name, file);
  const { isTaken, why } = await postTest(webhook, Date.now());
  if (!isTaken) process.exitCode = 1;
  if (json) return printJson({ webhook: name, taken: isTaken, ...(why !== undefined && { why }) });
  print(isTaken ? `${name} took it` : `${name} did not take it: ${why}`);
}

export async function listDead(name: string, { json }: WebhooksCommand): Promise<void> {
  const dead = (await withRedis(({ webhooks }) => webhooks.dead(name))) as readonly DeadLetter[];
  if (json) return dead.forEach((each) => printJson(each));
  if (dead.length === 0) print("nothing was given up");
  for (const { id, type, atMs, why, data } of dead)
    print(`${timeOf(atMs)}  ${type}  ${cleanLine(why)}  ${id}  ${clean(JSON.stringify(data))}`);
}

/** Throws WebhooksError with all problems of the file. Exits with 1 if something that was asked for was not taken. */
export async function replayWebhook(name: string, given: readonly string[], { file, limit, json }: ReplayCommand): Promise<void> {
  const webhook = named(name, file);
  const most = Number(limit);
  if (!/^\d+$/.test(limit) || most < 1) throw new Error(`--limit: a whole number from 1, not ${limit}`);
  const stopping = onStop();
  const ids = given.length === 0 ? undefined : new Set(given);
  const { taken, refused, left } = await withRedis(async ({ webhooks: states }) => {
    const replay = replayDead({ webhook, states, limit: most, now: Date.now, signal: stopping, ...(ids && { ids }) });
    const counts = { taken: 0, refused: 0 };
    for (let step = await replay.next(); ; step = await replay.next()) {
      if (step.done) return { ...counts, ...step.value };
      counts[step.value.taken ? "taken" : "refused"] += 1;
      ids?.delete(step.value.id);
      if (json) printJson(step.value);
      else tell(step.value);
    }
  });
  // Those that it never gave up, or that were taken since.
  const unknown = left > 0 ? [] : [...(ids ?? [])];
  if (refused + left + unknown.length > 0) process.exitCode = 1;
  if (json) return printJson({ webhook: name, taken, refused, left, unknown });
  if (taken + refused + left === 0 && unknown.length === 0) return print("nothing was given up");
  print(`${counted(taken, "event")} taken, ${refused} refused, ${left} not tried`);
  for (const id of unknown) print(`${cleanLine(id)} is not among what ${name} did not take: parley webhooks dead ${name}`);
}

function tell({ id, type, taken, why }: Replayed): void {
  print(`${taken ? "taken" : `not taken: ${cleanLine(why ?? "")}`}  ${type}  ${id}`);
}

/** Throws if the file has no such webhook. */
function named(name: string, file: string | undefined): Webhook {
  const webhook = readWebhooks(fileOf(file), process.env).find((each) => each.name === name);
  if (!webhook) throw new Error(`the file has no webhook ${JSON.stringify(name)}`);
  return webhook;
}

function shown({ name, url, events, tool, tenant }: Webhook) {
  // What follows the path may be a password of the receiver's.
  return {
    name,
    url: `${url.origin}${url.pathname}`,
    events,
    ...(tool !== undefined && { tool }),
    ...(tenant !== undefined && { tenant }),
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function fileOf(given: string | undefined): string {
  const file = given ?? process.env["PARLEY_WEBHOOKS"];
  if (!file) throw new Error("no file with webhooks: give one with --file, or set PARLEY_WEBHOOKS");
  return file;
}

async function withRedis<T>(use: (redis: RedisBackend) => Promise<T>): Promise<T> {
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, process.env)), { log: onStderr });
  try {
    return await use(redis);
  } finally {
    await redis.close();
  }
}
