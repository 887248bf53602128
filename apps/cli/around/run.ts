/** `parley claim`, `release`, `comment`, `ask-back`, `reply`, `delegate` and `snooze`: what people do around a question besides answering it. */
import { parseDuration } from "@parley/core";
import { ApiError, type ApiClient, type Ask } from "../client/api-client.ts";
import { readAsk } from "../questions/answer-ask.ts";
import { howEnded } from "../questions/asked.ts";
import { chooseKey, keysToReply, openKeys } from "../questions/choose-key.ts";
import { cleanLine, print, printJson } from "../terminal/terminal.ts";
import { relative } from "../terminal/times.ts";

export interface Around {
  readonly json?: boolean;
}

export interface Commenting extends Around {
  readonly message: string;
}

export interface Delegating extends Around {
  readonly to?: readonly string[];
  readonly group?: readonly string[];
  readonly role?: readonly string[];
  readonly reason: string;
}

export interface Snoozing extends Around {
  readonly for?: string;
  readonly until?: string;
  readonly back?: boolean;
}

/** Dates end soon after. The server says how far ahead a time may be. */
const YEAR_9999_MS = Date.parse("9999-12-31T00:00:00Z");

/** Without a key: the only open question of the task, or the one that the person chooses. */
interface Named {
  readonly taskId: string;
  readonly key: string | undefined;
}

interface Path {
  readonly taskId: string;
  readonly key: string;
}

export function claim(api: ApiClient, named: Named, { minutes, json }: Around & { readonly minutes: number }): Promise<void> {
  return done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/claim", { path, body: { minutes } }),
    said: (key, { claimedBy }) => `You are on ${key}; that ends ${relative(Date.parse(claimedBy.until), Date.now())}.`,
  });
}

export function release(api: ApiClient, named: Named, { json }: Around): Promise<void> {
  return done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/release", { path, body: {} }),
    said: (key) => `You are not on ${key} any more.`,
  });
}

export function comment(api: ApiClient, named: Named, { message, json }: Commenting): Promise<void> {
  return done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/comments", { path, body: { text: message } }),
    said: (key) => `Your comment on ${key} is there for everyone who is asked.`,
  });
}

export function askBack(api: ApiClient, named: Named, { message, json }: Commenting): Promise<void> {
  return done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/ask-back", { path, body: { text: message } }),
    said: (key) => `The person who made the call is asked; ${key} stays open.`,
  });
}

export function reply(api: ApiClient, named: Named, { message, json }: Commenting): Promise<void> {
  return done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/reply", { path, body: { text: message } }),
    said: (key) => `Your reply about ${key} is there for everyone who is asked.`,
    keysOf: keysToReply,
  });
}

export async function delegate(
  api: ApiClient,
  named: Named,
  { to: people, group: groups, role: roles, reason, json }: Delegating,
): Promise<void> {
  const to = { ...(people && { people }), ...(groups && { groups }), ...(roles && { roles }) };
  const names = Object.values(to).flat().map(cleanLine).join(", ");
  if (names === "") throw new Error("name at least one person (--to), group (--group) or role (--role)");
  await done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/delegate", { path, body: { to: to as Record<keyof typeof to, string[]>, reason } }),
    said: (key) => `${names} can answer ${key} in your place.`,
  });
}

export async function snooze(api: ApiClient, named: Named, { json, ...given }: Snoozing): Promise<void> {
  if (Object.keys(given).length !== 1) throw new Error("say for how long (--for), until when (--until), or --back");
  if (given.back) {
    return await done(api, named, json, {
      send: (path) => api.post("/asks/{taskId}/{key}/unsnooze", { path, body: {} }),
      said: (key) => `${key} is back in your inbox.`,
    });
  }
  const until = given.until ?? new Date(Math.min(Date.now() + parseDuration(given.for ?? ""), YEAR_9999_MS)).toISOString();
  await done(api, named, json, {
    send: (path) => api.post("/asks/{taskId}/{key}/snooze", { path, body: { until } }),
    said: (key, receipt) => `${key} comes back ${relative(Date.parse(receipt.until), Date.now())}.`,
  });
}

interface Deed<Receipt> {
  readonly send: (path: Path) => Promise<Receipt>;
  readonly said: (key: string, receipt: Receipt) => string;
  /** Of the questions that it can be about, if none is named. */
  readonly keysOf?: typeof openKeys;
}

async function done<Receipt extends object>(
  api: ApiClient,
  { taskId, key }: Named,
  json = false,
  { send, said, keysOf = openKeys }: Deed<Receipt>,
): Promise<void> {
  const chosen = key ?? (await chooseKey(await keysOf(api, taskId)));
  if (chosen === undefined || chosen === "") throw new Error(`task ${cleanLine(taskId)} asks nothing that you could read`);
  const path = { taskId, key: chosen };
  const receipt = await send(path).catch(async (error: unknown) => {
    throw (await explained(api, path, error)) ?? error;
  });
  if (json) printJson({ ...path, ...receipt });
  else print(said(cleanLine(chosen), receipt));
}

/** Who is on the question, or how it ended. */
async function explained(api: ApiClient, { taskId, key }: Path, error: unknown): Promise<Error | undefined> {
  if (!(error instanceof ApiError) || error.status !== 409) return undefined;
  const { receipt } = error.problem;
  const now: Ask | undefined = await readAsk(api, taskId, key).catch(() => undefined);
  const problem = (detail: string) => new ApiError({ ...error.problem, detail });
  if (receipt === "late" && now?.state === "settled") return problem(`${cleanLine(key)} ${howEnded(now)}`);
  if (receipt !== "taken" || now === undefined || now.state === "settled" || !now.claimedBy) return undefined;
  return problem(`${cleanLine(now.claimedBy.name ?? now.claimedBy.principal)} is on ${cleanLine(key)}; you may answer it all the same`);
}
