/**
 * Posts what happens in a thread of its own: what a thousand subscribers hear at once is work that nobody waits for, and must not stand before the
 * runs of those who do.
 *
 *   main     runs · sweeps · … ◀── counts, states ──┐
 *   thread   outbox ─▶ policy ─▶ POST ─▶ place ─────┘   with connections of its own, and a tenth of the main thread's share where both want the CPU
 */
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Log } from "@parley/core";
import type { RedisSettings } from "@parley/redis";
import type { DeliveryState } from "@parley/webhooks";

/** What crosses over to the thread. */
export interface PostWith {
  readonly redis: Partial<RedisSettings> & Pick<RedisSettings, "url">;
  readonly secrets: readonly string[];
  readonly logLevel: string;
  /** The operator's, and what it may refer to. */
  readonly file: { readonly file: string; readonly variables: NodeJS.ProcessEnv } | undefined;
  /** The file of upstreams, of whose events clients may have subscribed. */
  readonly upstreams: string | undefined;
  readonly isPrivate: boolean;
  readonly publicUrl: string | undefined;
}

export interface PostInThread {
  readonly log: Pick<Log, "warn" | "error">;
  readonly count: (webhook: string, result: "delivered" | "failed" | "given_up") => void;
  readonly show: (webhook: string, state: DeliveryState | undefined) => void;
  /** The thread has ended by itself, which only a defect does. Another one follows. */
  readonly broke: () => void;
}

type Message =
  | { readonly type: "ready" }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "counted"; readonly webhook: string; readonly result: "delivered" | "failed" | "given_up" }
  | { readonly type: "shown"; readonly webhook: string; readonly state: DeliveryState | undefined };

const MARK = "parley posts";
/** Posts end at once, and what is then saved waits for Redis. */
const STOP_MS = 8_000;
/** The least that a thread may want is 19. */
const NICE = 10;
/** When another thread follows one that ended by itself; doubled each time, unless it posted for long enough. */
const AGAIN_MS = 1_000;
const AGAIN_MAX_MS = 60_000;
const STEADY_MS = 10 * 60_000;

/**
 * Resolves once it posts, to what stops it. Throws an Error that says why it does not. A thread that ends by itself is followed by another one, and ends
 * no run: those who wait for their tasks do not wait for webhooks. What it had not saved is posted again, by it or another worker.
 */
export async function postInThread(given: PostWith, told: PostInThread): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let thread: PostingThread | undefined = await startThread(given, told, signal);

  async function keep(): Promise<void> {
    let waitMs = AGAIN_MS;
    // oxlint-disable no-await-in-loop -- thread after thread
    while (!signal.aborted) {
      const startedMs = performance.now();
      if (thread) {
        await thread.ended;
        if (signal.aborted) return;
        told.broke();
      }
      if (performance.now() - startedMs >= STEADY_MS) waitMs = AGAIN_MS;
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      waitMs = Math.min(2 * waitMs, AGAIN_MAX_MS);
      if (signal.aborted) return;
      thread = await startThread(given, told, signal).catch((error: unknown) => {
        if (!signal.aborted) told.log.error({ err: error }, "the thread that posts webhooks does not start; it is tried again");
        return undefined;
      });
      if (signal.aborted) await thread?.stop();
    }
    // oxlint-enable no-await-in-loop
  }

  const kept = keep();
  return async () => {
    stopping.abort();
    await thread?.stop();
    await kept;
  };
}

interface PostingThread {
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Resolves once it posts. One that starts when the worker stops has posted nothing, and is ended at once. */
async function startThread(given: PostWith, { log, count, show }: PostInThread, signal: AbortSignal): Promise<PostingThread> {
  const variables = given.file && { ...given.file, variables: { ...given.file.variables } };
  const thread = new Worker(new URL(import.meta.url), { name: "webhooks", workerData: { mark: MARK, ...given, file: variables } });
  const shown = new Set<string>();
  const started = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  thread.on("message", (message: Message) => {
    if (message.type === "ready") started.resolve();
    else if (message.type === "failed") started.reject(new Error(message.message));
    else if (message.type === "counted") count(message.webhook, message.result);
    else {
      shown.add(message.webhook);
      show(message.webhook, message.state);
    }
  });
  thread.on("error", (error) => {
    log.error({ err: error }, "the thread that posts webhooks has failed");
    started.reject(error);
  });
  thread.on("exit", () => {
    for (const webhook of shown) show(webhook, undefined);
    exited.resolve();
    started.reject(new Error("the thread that posts webhooks has ended"));
  });
  const giveUp = () => void thread.terminate();
  signal.addEventListener("abort", giveUp);
  try {
    await started.promise;
  } catch (error) {
    await thread.terminate();
    throw error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
  return {
    ended: exited.promise,
    async stop() {
      thread.postMessage("stop");
      const timer = setTimeout(() => {
        log.warn({}, "the thread that posts webhooks does not stop, and is ended; other workers go on from its last places");
        void thread.terminate();
      }, STOP_MS);
      await exited.promise;
      clearTimeout(timer);
    },
  };
}

// ── in the thread ──────────────────────────────────────────────────────────────────────────────────────────────

async function serve({ redis: settings, secrets, logLevel, upstreams: file, ...given }: PostWith): Promise<void> {
  // Elsewhere the whole process would get it.
  if (process.platform === "linux") setPriority(NICE);
  const say = (message: Message) => parentPort?.postMessage(message);
  const [{ connectRedis }, node, { openWebhooks }] = await Promise.all([
    import("@parley/redis"),
    import("@parley/node"),
    import("./open-webhooks.ts"),
  ]);
  const log = node.createLogger("worker", logLevel);
  // As in the rest of the process, where nothing depends on what was rejected.
  process.on("unhandledRejection", (error) => log.error({ err: error }, "unhandled promise rejection"));
  const redis = await connectRedis(settings, { log });
  const services = {
    store: redis.store,
    digest: redis.content.digest(node.sha256Digest),
    clock: { ...node.systemClock, now: redis.now },
    log,
  };
  // A leaf: loaded only if there are upstreams.
  const upstreams = file === undefined ? undefined : await (await import("./hear-upstreams.ts")).hearUpstreams(file, redis);
  const stop = openWebhooks({
    ...given,
    passedOn: upstreams?.passedOn,
    audit: settings.audit === true ? redis.audit : undefined,
    services,
    redis,
    seal: node.depositSeal(await node.agreedSecrets(secrets, redis.secret)),
    count: (webhook, result) => say({ type: "counted", webhook, result }),
    show: (webhook, state) => say({ type: "shown", webhook, state }),
  });
  parentPort?.once("message", () => {
    void stop()
      .then(() => upstreams?.close())
      .then(() => redis.close())
      .finally(() => process.exit());
  });
  say({ type: "ready" });
}

if (!isMainThread && (workerData as { mark?: unknown } | null)?.mark === MARK) {
  serve(workerData as PostWith).catch((error: unknown) => {
    parentPort?.postMessage({ type: "failed", message: error instanceof Error ? error.message : String(error) } satisfies Message);
  });
}
