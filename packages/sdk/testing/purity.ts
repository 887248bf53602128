/**
 * Detects what replay cannot: a handler that reads the clock, draws random values or reaches outside without `ctx`
 * and outside a step.
 *
 *   handler ──Date.now()──▶ detected ──the run waits──▶ an impurity: the next run starts from the top and reads something else
 *                              └──────the run ends────▶ ignored: no later run reads it again
 *
 * The globals are replaced only while a watched run is active, and restored afterwards; calls from elsewhere in the
 * process pass through. As in production, AsyncLocalStorage tells whose call it is.
 *
 * A package that reads the clock for itself, such as a logger, decides nothing for the tool: from node_modules only
 * `fetch` counts.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import nodeCrypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import fsPromises from "node:fs/promises";
import timersPromises from "node:timers/promises";
import type { Latency } from "./latency.ts";

/** Reads of files, which a handler may await outside of steps. */
const READS = ["readFile", "readdir", "stat", "access"] as const;

const INSTEAD = {
  "Date.now": "ctx.now()",
  "new Date": "ctx.now()",
  "performance.now": "ctx.now()",
  "Math.random": "ctx.random()",
  "crypto.randomUUID": "ctx.uuid()",
  fetch: "a ctx.step around it",
  setTimeout: "ctx.sleep(…), or a ctx.step around it",
} as const;

/** Something that a handler read outside `ctx` and outside steps. */
export interface Impurity {
  readonly name: keyof typeof INSTEAD;
  /** File, line and column. */
  readonly at: string;
}

/** A handler waited after it had read something that its next run will read differently. */
export class ImpureHandler extends Error {
  override readonly name = "ImpureHandler";
  readonly impurities: readonly Impurity[];
  constructor(tool: string, impurities: readonly Impurity[]) {
    const lines = impurities.map(({ name, at }) => `  ${name} at ${at}: use ${INSTEAD[name]}`);
    super(
      `${tool} reads something outside of ctx and then waits; it starts from the top when the wait is over, and reads something else:\n` +
        `${lines.join("\n")}\nIf nothing that it does depends on that, test it with { strict: false }.`,
    );
    this.impurities = impurities;
  }
}

/**
 * Something outside `ctx` that a test replaces, such as a database: a handler waits for the returned function for longer in one run than in another,
 * as it would in production. Within a step, and with `strict: false`, it does not.
 */
export function outside<Args extends unknown[], T>(work: (...args: Args) => T | Promise<T>): (...args: Args) => Promise<T> {
  return async (...args) => {
    const done = await work(...args);
    const passing = watched.getStore()?.latency?.pass();
    if (passing) await passing;
    return done;
  };
}

export interface Watch {
  /** Starts a run of the handler: impurities of earlier runs are forgotten. */
  handler<T>(work: () => T): T;
  /** A step may read anything, because its result is recorded. */
  step<T>(work: () => T): T;
  /** Performs `work` with the globals replaced. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** The run will start again from the top, so what it read counts. */
  repeats(): void;
  /** The impurities that count, each place once. */
  readonly impurities: readonly Impurity[];
}

interface Watched {
  notice(name: Impurity["name"], at: string): void;
  readonly latency: Latency | undefined;
}

const watched = new AsyncLocalStorage<Watched | undefined>();

/** With a latency, what the handler awaits outside of steps takes longer in one run than in another. */
export function createWatch(latency?: Latency): Watch {
  let noticed = new Map<string, Impurity>();
  const impurities = new Map<string, Impurity>();
  return {
    handler(work) {
      const ofRun = new Map<string, Impurity>();
      noticed = ofRun;
      return watched.run({ notice: (name, at) => void ofRun.set(`${name} ${at}`, { name, at }), latency }, work);
    },
    step: (work) => watched.run(undefined, work),
    async during(work) {
      replaceGlobals();
      try {
        return await work();
      } finally {
        putGlobalsBack();
      }
    },
    repeats() {
      for (const [key, impurity] of noticed) impurities.set(key, impurity);
    },
    get impurities() {
      return [...impurities.values()];
    },
  };
}

// ── the globals ────────────────────────────────────────────────────────────────────────────────────────────────

/** Active runs: tests may run at once in one process. */
let working = 0;
let putBack: (() => void)[] = [];

function replaceGlobals(): void {
  working += 1;
  if (working > 1) return;
  putBack = [
    replace(globalThis, "Date", noticingDate),
    replace(ownerOf(globalThis.performance, "now"), "now", (now) => noticing("performance.now", now)),
    replace(Math, "random", (random) => noticing("Math.random", random)),
    replace(ownerOf(globalThis.crypto, "randomUUID"), "randomUUID", (uuid) => noticing("crypto.randomUUID", uuid)),
    replace(nodeCrypto, "randomUUID", (uuid) => noticing("crypto.randomUUID", uuid)),
    replace(globalThis, "fetch", (fetch) => delaying(noticing("fetch", fetch))),
    replace(globalThis, "setTimeout", (setTimeout) => noticing("setTimeout", setTimeout)),
    replace(timersPromises, "setTimeout", (setTimeout) => delaying(noticing("setTimeout", setTimeout))),
    ...READS.map((name) => replace(fsPromises, name, (read) => delaying(read as (...args: unknown[]) => unknown) as never)),
  ];
  // `import { randomUUID } from "node:crypto"` is bound to a copy.
  syncBuiltinESMExports();
}

function putGlobalsBack(): void {
  working -= 1;
  if (working > 0) return;
  for (const each of putBack) each();
  syncBuiltinESMExports();
}

/** Where a method stands: on the prototype, unless a test has put one of its own on the object. */
function ownerOf<O extends object, K extends keyof O>(object: O, key: K): O {
  return Object.hasOwn(object, key) ? object : (Object.getPrototypeOf(object) as O);
}

function replace<O extends object, K extends keyof O>(owner: O, key: K, make: (original: O[K]) => O[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, key);
  const replacement = make(owner[key]);
  Object.defineProperty(owner, key, { value: replacement, configurable: true, enumerable: before?.enumerable ?? true, writable: true });
  return () => {
    // A test may have installed a fake of its own here in the meantime.
    if (owner[key] === replacement && before) Object.defineProperty(owner, key, before);
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- any function
function noticing<F extends (...args: any[]) => unknown>(name: Impurity["name"], original: F): F {
  return new Proxy(original, {
    apply(target, self, args) {
      notice(name);
      return Reflect.apply(target, self, args) as unknown;
    },
  });
}

/** What it returns settles later in one run of a handler than in another. */
// oxlint-disable-next-line typescript/no-explicit-any -- any function
function delaying<F extends (...args: any[]) => unknown>(original: F): F {
  return new Proxy(original, {
    apply(target, self, args) {
      const returned = Reflect.apply(target, self, args) as unknown;
      const latency = watched.getStore()?.latency;
      if (!latency || !(returned instanceof Promise)) return returned;
      return passing(returned, latency);
    },
  });
}

async function passing<T>(promise: Promise<T>, latency: Latency): Promise<T> {
  try {
    return await promise;
  } finally {
    const passed = latency.pass();
    if (passed) await passed;
  }
}

function noticingDate(original: DateConstructor): DateConstructor {
  const replacement: DateConstructor = new Proxy(original, {
    get: (target, key) =>
      key === "now" ? noticing("Date.now", Reflect.get(target, key) as typeof Date.now) : (Reflect.get(target, key) as unknown),
    apply(target, self, args) {
      notice("new Date");
      return Reflect.apply(target, self, args) as string;
    },
    construct(target, args, made) {
      if (args.length === 0) notice("new Date");
      return Reflect.construct(target, args, made === replacement ? target : made) as Date;
    },
  });
  return replacement;
}

function notice(name: Impurity["name"]): void {
  const run = watched.getStore();
  if (!run) return;
  const at = callerOf(name);
  if (at !== undefined) run.notice(name, at);
}

// ── who called ─────────────────────────────────────────────────────────────────────────────────────────────────

const FRAME = /(?:\(|at (?:async )?)((?:file:|node:|\/|[A-Za-z]:)[^()]*:\d+:\d+)\)?$/;
const OWN_FILE = import.meta.filename;

/** The author's line that made the call; undefined if a package or Node.js itself did. */
function callerOf(name: Impurity["name"]): string | undefined {
  const frames = (new Error(name).stack ?? "").split("\n").flatMap(
    (line) =>
      FRAME.exec(line)?.[1]
        ?.replace(/^file:\/\//, "")
        .replace(/\?[^/]*(?=:\d+:\d+$)/, "") ?? [],
  );
  const callers = frames.filter((frame) => !frame.startsWith(OWN_FILE));
  const isForeign = (frame: string) => frame.startsWith("node:") || frame.includes("/node_modules/");
  const [caller] = callers;
  if (caller === undefined || !isForeign(caller)) return caller;
  return name === "fetch" ? (callers.find((frame) => !isForeign(frame)) ?? caller) : undefined;
}
