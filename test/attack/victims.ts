/** Ada's deployment: two front ends that require a token from everyone, and everything of hers that others could want. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Caller } from "../fuzz/wire/caller.ts";
import type { InSession } from "../fuzz/wire/sessions.ts";
import { ASKABLE } from "../fuzz/wire/stateless.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { startOwnRedis } from "../support/shared-redis.ts";
import { until } from "../support/until.ts";

export interface Victim {
  readonly deployment: Deployment;
  readonly issuer: Issuer;
  readonly caller: Caller;
  readonly token: string;
  /** By the tool that made them. */
  readonly tasks: Readonly<Record<string, string>>;
  readonly session: InSession;
  /** Of the question that waits on her call's stream, and of an event on it. */
  readonly askId: string;
  readonly eventId: string;
  readonly requestState: string;
  /** A request of hers to the API, and the key with which she sent it. */
  readonly repeatable: readonly [path: string, body: object];
  readonly idempotencyKey: string;
  /** Of the last event in her stream of changes. */
  readonly changeId: string;
  /** What she sees of her tasks: the same before and after everything that others did. */
  look(): Promise<string>;
  close(): Promise<void>;
}

/** Beyond what any attacker here can send in a second: what is refused is refused for what it is. */
const BOUNDLESS = "1000000";

export async function startVictim(): Promise<Victim> {
  const [issuer, redis] = await Promise.all([startIssuer(), startOwnRedis()]);
  const close = async () => {
    await issuer.close();
    await redis.close();
  };
  const deployment = await startDeployment({
    redisUrl: redis.url,
    tools: [join(import.meta.dirname, "tools.ts")],
    env: {
      PARLEY_AUTH: "required",
      PARLEY_AUTH_ISSUERS: issuer.url,
      PARLEY_PUBLIC_URL: "http://localhost:3000",
      PARLEY_AUTH_TENANT_CLAIM: "org",
      PARLEY_AUTH_GROUPS_CLAIM: "groups",
      PARLEY_AUTH_API_KEYS: "true",
      PARLEY_TASK_GRACE: "20ms",
      PARLEY_QUOTA_CALLS: BOUNDLESS,
      PARLEY_QUOTA_READS: BOUNDLESS,
      PARLEY_QUOTA_ANSWERS: BOUNDLESS,
      PARLEY_QUOTA_SESSIONS: BOUNDLESS,
    },
  }).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  try {
    const token = await issuer.token({ sub: "ada", org: "acme", exp: Math.floor(Date.now() / 1_000) + 86_400 });
    const caller = new Caller(new URL(deployment.url).origin, { authorization: `Bearer ${token}` });
    const tasks: Record<string, string> = {};
    for (const name of ["asks-owner", "asks-approvers", "sleeps", "ends"]) {
      tasks[name] = String((await caller.stateless({ method: "tools/call", params: { name, arguments: {} } }))["taskId"]);
    }
    const requestState = String(
      (await caller.stateless({ method: "tools/call", params: { name: "asks-owner", arguments: {} }, capabilities: ASKABLE }))[
        "requestState"
      ],
    );
    const session = await caller.open("2025-11-25");
    const { id, eventId } = await caller.untilAsked(session, "tools/call", { name: "asks-owner", arguments: {} }, 1);
    const read = async (name: string) => await caller.stateless({ method: "tasks/get", params: { taskId: tasks[name] ?? "" } });
    const due = { "asks-owner": "input_required", sleeps: "working", ends: "completed" };
    for (const [name, status] of Object.entries(due)) await until(async () => (await read(name))["status"] === status);
    await until(async () => String((await read("asks-approvers"))["statusMessage"]).startsWith("Waiting for an answer"));
    const own = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const { origin } = new URL(deployment.url);
    const repeatable = [`/asks/${tasks["asks-owner"]}/name/claim`, { minutes: 60 }] as const;
    const idempotencyKey = randomUUID();
    const claimed = await fetch(`${origin}/api/v1${repeatable[0]}`, {
      method: "POST",
      headers: { ...own, "idempotency-key": idempotencyKey },
      body: JSON.stringify(repeatable[1]),
    });
    if (claimed.status !== 200) throw new Error(`Ada cannot claim her own question: ${await claimed.text()}`);
    const changeId = await firstIdOf(`${origin}/api/v1/asks/changes`, own);
    return {
      deployment,
      issuer,
      caller,
      token,
      tasks,
      session,
      askId: String(id),
      eventId: String(eventId),
      requestState,
      repeatable,
      idempotencyKey,
      changeId,
      async look() {
        const seen = Object.values(tasks).map(async (taskId) => await caller.stateless({ method: "tasks/get", params: { taskId } }));
        const listed = await caller.inSession(session, "tasks/list");
        const asked = await fetch(`${origin}/api/v1/asks/${tasks["asks-owner"]}/name`, { headers: own });
        // The interval grows with a task's age, by nobody's doing.
        return JSON.stringify([await Promise.all(seen), listed, await asked.json()], (key, value: unknown) =>
          key.startsWith("pollInterval") ? undefined : value,
        );
      },
      async close() {
        caller.close();
        await deployment.close();
        await close();
      },
    };
  } catch (error) {
    await deployment.close();
    await close();
    throw error;
  }
}

/** Of the first event of a stream. */
async function firstIdOf(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(url, { headers: { ...headers, accept: "text/event-stream" } });
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const [, id] = /^id: (\S+)\n[^]*\n\n/m.exec(text) ?? [];
    // Leaving the loop leaves the stream.
    if (id !== undefined) return id;
  }
  throw new Error(`${url} ended with ${response.status} and no event: ${text}`);
}
