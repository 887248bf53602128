/** The deployment under test: two front ends behind a proxy without affinity, two workers, a Redis of its own, and an inspector in each process. */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Launched, logged } from "../support/processes.ts";
import { startOwnRedis } from "../support/shared-redis.ts";
import { until } from "../support/until.ts";
import { isObject, type JsonObject } from "./draw/json.ts";
import { SECRET } from "./leaks.ts";
import { PAGE_SIZE } from "./limits.ts";
import { Caller } from "./wire/caller.ts";

export interface Member {
  readonly kind: "front end" | "worker";
  readonly process: Launched;
  /** Where the operator looks, without a path. */
  readonly operator: string;
}

export interface FrontEnd extends Member {
  readonly url: string;
}

export interface System {
  /** The proxy, without a path. */
  readonly url: string;
  readonly frontEnds: readonly FrontEnd[];
  readonly members: readonly Member[];
  readonly deployment: Deployment;
  /** What tools/list says: argument schemas by name. */
  readonly tools: ReadonlyMap<string, JsonObject>;
  /** Gone with the run. */
  readonly directory: string;
  /** Where the files of tasks are, each below its task's id. */
  readonly files: string;
  /** What the member told from inside since the last time, oldest first. */
  told(member: Member): Promise<readonly Told[]>;
  /** Memory and prototypes, after a collection of garbage. */
  look(member: Member): Promise<State>;
  close(): Promise<void>;
}

export interface Blocked {
  readonly type: "blocked";
  readonly atMs: number;
  readonly blockedMs: number;
  readonly cpuMs: number;
}

export interface State {
  readonly type: "state";
  readonly atMs: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly rssBytes: number;
  /** Since the process began. */
  readonly cpuMs: number;
  /** Members of built-in objects that are not what they were at the first look. */
  readonly changed: readonly string[];
}

export type Told = Blocked | State;

const TOOLS = ["@parley/gallery", join(import.meta.dirname, "tools.ts")];
const INSIDE = pathToFileURL(join(import.meta.dirname, "inside.mjs")).href;

export async function startSystem(): Promise<System> {
  const directory = await mkdtemp(join(tmpdir(), "parley-fuzz-"));
  const inside = join(directory, "inside");
  await mkdir(inside);
  const redis = await startOwnRedis();
  const deployment = await startDeployment({
    tools: TOOLS,
    redisUrl: redis.url,
    // Where tools say that events are told; nobody tells any.
    workerEnv: { PARLEY_PUBLIC_URL: "http://127.0.0.1:9" },
    env: {
      NODE_OPTIONS: `--import=${INSIDE}`,
      FUZZ_INSIDE: inside,
      PARLEY_LOG_LEVEL: "trace",
      PARLEY_GALLERY_DIR: join(directory, "gallery"),
      PARLEY_FILES: `dir:${join(directory, "files")}`,
      PARLEY_METRICS_PORT: "0",
      PARLEY_PAGE_SIZE: String(PAGE_SIZE),
      PARLEY_SECRET: SECRET,
      PARLEY_OUTBOX: "true",
      // Moments that callers wait for: short, since there are thousands of them.
      PARLEY_TASK_GRACE: "20ms",
      PARLEY_RESUMABLE_AFTER: "20ms",
      PARLEY_STREAM_AFTER: "1s",
    },
  }).catch(async (error: unknown) => {
    await redis.close();
    throw error;
  });
  const close = async () => {
    await deployment.close();
    await redis.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const frontEnds = await Promise.all(
      deployment.frontEnds.map(async (process) => ({
        kind: "front end" as const,
        process,
        url: process.url,
        operator: String((await logged(process, "front end ready"))["operator"]),
      })),
    );
    const workers = await Promise.all(
      deployment.workers.map(async (process) => ({
        kind: "worker" as const,
        process,
        operator: String((await logged(process, "worker ready"))["operator"]),
      })),
    );
    const read = new Map<number, number>();
    const lines = async ({ process: { pid } }: Member) => {
      const text = await readFile(join(inside, `${pid}.jsonl`), "utf8").catch(() => "");
      return text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Told);
    };
    return {
      url: deployment.proxy.url,
      frontEnds,
      members: [...frontEnds, ...workers],
      deployment,
      tools: await toolsOf(deployment.proxy.url),
      directory,
      files: join(directory, "files", deployment.redis.prefix),
      async told(member) {
        const all = await lines(member);
        const before = read.get(member.process.pid) ?? 0;
        read.set(member.process.pid, all.length);
        return all.slice(before);
      },
      async look(member) {
        const isState = (line: Told): line is State => line.type === "state";
        const before = (await lines(member)).filter(isState).length;
        process.kill(member.process.pid, "SIGUSR2");
        return await until(async () => (await lines(member)).filter(isState)[before]);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function toolsOf(url: string): Promise<ReadonlyMap<string, JsonObject>> {
  const caller = new Caller(url);
  const schemas = new Map<string, JsonObject>();
  try {
    const { tools } = (await caller.stateless({ method: "tools/list", params: {} })) as unknown as {
      tools: readonly { readonly name: string; readonly inputSchema: JsonObject }[];
    };
    for (const { name, inputSchema } of tools) if (isObject(inputSchema)) schemas.set(name, inputSchema);
    return schemas;
  } finally {
    caller.close();
  }
}
