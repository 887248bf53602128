/**
 * Runs a program as a handler: natural asynchronous code over core's Effects, which tells its stage what it calls and what it sees.
 *
 * Each branch carries a number made of everything it has seen. It goes into steps and questions, so that code that is given another branch's
 * result, or decides otherwise than before, asks for something else from then on.
 */
import type { Audience, Effects, Json, JsonObject, Reading, StepAttempt } from "@parley/core";
import { createMap } from "../../packages/sdk/context/map.ts";
import type { Library } from "./library.ts";
import { limited } from "./limiters.ts";
import { createLocks, type Exclusively } from "./locks.ts";
import { BY_PLACE, type Effect, isCall, isEffect, type Key, type Node, type Program } from "./program.ts";

/** What a handler meets besides ctx, and whom it tells. */
export interface Stage {
  /** About to call an effect. */
  call(path: string, what: string): void;
  /** An effect settled for the handler. Returns the value as text. */
  saw(path: string, effect: Effect, value: unknown): string;
  sawError(path: string, error: unknown): void;
  /** What `patched` said; within a `ctx.branch` by its path. */
  decided(name: string, isNew: boolean): void;
  /** What a schema draws: another number each time. */
  draw(): number;
  work(step: StepCall, attempt: StepAttempt): Promise<Json>;
  outside(path: string, cached: boolean): Promise<void>;
  /** Of the process. */
  readonly library: Library;
  /** Something that only takes time. */
  pause(): Promise<void>;
  /** Whether an error of the first tries is thrown this time. */
  throws(path: string, first: number): boolean;
  /** Whether the handler's code is the new one. */
  readonly isChanged: boolean;
}

export interface StepCall {
  readonly path: string;
  readonly data: number;
  readonly fails: number;
  readonly deaf: boolean;
}

/** The engine to come. */
export interface OrderedEffects extends Omit<Effects, "sleep" | "ask" | "event" | "callTool"> {
  callTool(name: string, call: Parameters<Effects["callTool"]>[1], options?: Waiting): Promise<unknown>;
  ask(name: string, request: Parameters<Effects["ask"]>[1], options?: Waiting & { audience?: Audience }): Promise<unknown>;
  event(
    name: string,
    request: Parameters<Effects["event"]>[1],
    options?: Waiting,
  ): { readonly answer: Promise<unknown>; reading(): Reading };
  sleep(name: string, ms: number, options?: { signal?: AbortSignal }): Promise<void>;
  branch<T>(key: string, work: () => Promise<T>): Promise<T>;
  restart(args: JsonObject): Promise<never>;
}

interface Waiting {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One branch of the handler. */
interface Frame {
  readonly path: string;
  /** What names of items end with. */
  readonly suffix: string;
  /** The innermost `ctx.branch`. */
  readonly branch: string;
  readonly signal: AbortSignal | undefined;
  data: number;
}

/** A promise in a box, since an async function would await it on its way. */
type Started = { readonly heard: () => Promise<number> };

export async function interpret(program: Program, args: JsonObject, given: Effects, stage: Stage): Promise<JsonObject> {
  const effects = given as OrderedEffects;
  const round = Number(args["round"] ?? 0);
  const started = new Map<number, Started>();
  const kept = new Map<number, Promise<number>>();
  const locks = program.locks?.map(createLocks);
  const ctxMap = createMap(given);
  const root: Frame = { path: String(round), suffix: "", branch: "", signal: undefined, data: round };

  for (const [index, node] of program.body.entries()) {
    if (node.op === "changed" && stage.isChanged) return { data: root.data, ended: "changed" };
    if (node.op === "return" && root.data % 2 === 1) return { data: root.data, ended: "early" };
    if (node.op === "restart" && round < node.rounds) {
      stage.call(`${round}/${index}`, "restart");
      await effects.restart({ round: round + 1 });
    }
    await next(node, root, index);
  }
  return { data: root.data, ended: "end" };

  /** Runs a node as a part of its branch. */
  async function next(node: Node, frame: Frame, index: number | string): Promise<void> {
    const made = run(node, child(frame, index));
    // What is there is not awaited: an await of something that is not of ctx costs the calls after it their certain order.
    frame.data = mix(frame.data, typeof made === "number" ? made : await made);
  }

  function run(node: Node, frame: Frame): number | Promise<number> {
    if (node.op === "fact") return hash(stage.saw(frame.path, node, begin(node, frame)));
    if (isEffect(node)) return hear(node, frame, begin(node, frame));
    if (node.op === "if") {
      const chosen = frame.data % 2 === 0 ? node.body : node.else;
      return chosen ? run(chosen, child(frame, frame.data % 2)) : 0;
    }
    if (node.op === "start") {
      started.set(node.id, start(node.body, frame));
      return 0;
    }
    if (node.op === "then" && !node.config && !node.lazy) return react(node, frame);
    return runOther(node, frame);
  }

  /** No async function: the author awaits the last promise alone. */
  function react({ body, next: then }: Extract<Node, { op: "then" }>, frame: Frame): Promise<number> {
    const own = child(frame, "e", { signal: frame.signal });
    return (begin(body, own) as Promise<unknown>).then(
      (value) => {
        const seen = hash(stage.saw(own.path, body, value));
        return then ? run(then, { ...child(frame, "n"), data: mix(frame.data, seen) }) : seen;
      },
      (error: unknown) => {
        stage.sawError(own.path, error);
        throw error;
      },
    );
  }

  /** In a list of promises: a value that is there already may stand beside them. */
  function item(node: Node, frame: Frame): Promise<number> {
    return run(node, frame) as Promise<number>;
  }

  // ── effects ────────────────────────────────────────────────────────────────────────────────────────────────────

  function begin(node: Effect, frame: Frame): unknown {
    if (node.op === "fact" || node.key === undefined) return beginCall(node, frame);
    return effects.keyed(keyOf(node.key, frame), () => beginCall(node, frame));
  }

  function beginCall(node: Effect, { path, suffix, data, signal }: Frame): unknown {
    if (node.op === "fact") {
      if (node.fact === "patched") return undefined;
      stage.call(path, node.fact);
      return effects[node.fact]();
    }
    const name = node.each ? `${node.name}${suffix}` : node.name;
    stage.call(path, `${node.op} ${name}`);
    switch (node.op) {
      case "step": {
        const { fails = 0, deaf = false, attempts } = node;
        const call: StepCall = { path, data, fails: fails ?? Infinity, deaf };
        return effects.step(name, (attempt) => stage.work(call, attempt), attempts === undefined ? {} : { attempts });
      }
      case "ask":
      case "child":
      case "event": {
        const options: Waiting = { ...(node.timeoutMs !== undefined && { timeoutMs: node.timeoutMs }), ...(signal && { signal }) };
        if (node.op === "event") {
          const event = effects.event(name, { type: "event", schema: { ...FORM, title: `${path} ${data}` } }, options);
          return node.draws ? effects.ofCtx(read(event.answer, event.reading)) : event.answer;
        }
        if (node.op === "child") return effects.callTool(name, { tool: CHILD, arguments: { path, data } }, options);
        const request = { type: "form", message: `${path} ${data}`, schema: FORM } as const;
        const answer = effects.ask(name, request, { ...options, ...(node.quorum && { audience: TWO_PEOPLE }) });
        return node.draws ? effects.ofCtx(read(answer, () => effects.readingOf(name))) : answer;
      }
      case "sleep":
        return effects.sleep(name, node.ms, signal && { signal });
    }
  }

  /** As packages/sdk reads an answer by a schema that draws. */
  async function read(answered: Promise<unknown>, readingOf: () => Reading): Promise<unknown> {
    const answer = (await answered) as { readonly action: string };
    if (answer.action !== "accept") return answer;
    const reading = readingOf();
    if (reading.kept !== undefined) return { ...answer, read: reading.kept };
    const drawn = stage.draw();
    // A schema is asked more than once before what it drew is kept.
    await Promise.resolve();
    reading.keep(drawn, true);
    return { ...answer, read: drawn };
  }

  async function hear(node: Effect, { path }: Frame, promise: unknown): Promise<number> {
    let value: unknown;
    try {
      value = await promise;
    } catch (error) {
      stage.sawError(path, error);
      throw error;
    }
    return hash(stage.saw(path, node, value));
  }

  function start(node: Node, frame: Frame): Started {
    if (!isEffect(node) || node.op === "fact") {
      const made = run(node, frame);
      const promise = typeof made === "number" ? Promise.resolve(made) : made;
      return { heard: () => promise };
    }
    // The effect's own promise, untouched: to listen to it here would be to hear what the handler has not heard yet.
    const promise = begin(node, frame) as Promise<unknown>;
    if (node.op === "step" && node.fails !== undefined) return { heard: () => hear(node, frame, promise) };
    const seen = promise.then((value) => hash(stage.saw(frame.path, node, value)));
    return { heard: () => seen };
  }

  // ── everything else ────────────────────────────────────────────────────────────────────────────────────────────

  async function runOther(node: Exclude<Node, Effect | { readonly op: "if" | "start" }>, frame: Frame): Promise<number> {
    switch (node.op) {
      case "micro":
        for (let time = 0; time < node.times; time += 1) await Promise.resolve();
        return 0;
      case "outside":
        await stage.outside(frame.path, node.cached === true);
        return 0;
      case "read":
        await stage.library.read(node.source, node.own ? frame.path.slice(frame.path.indexOf("/")) : node.row);
        return 0;
      case "seq":
        for (const [index, each] of node.body.entries()) await next(each, frame, index);
        return frame.data;
      case "all":
        return mixAll(await Promise.all(node.body.map((each, index) => item(each, child(frame, index)))));
      case "allSettled": {
        const settled = await Promise.allSettled(node.body.map((each, index) => item(each, child(frame, index))));
        return mixAll(settled.map((each) => (each.status === "fulfilled" ? each.value : hash(messageOf(each.reason)))));
      }
      case "race":
      case "any": {
        const over = node.withdraw ? new AbortController() : undefined;
        const branches = node.body.map((each, index) =>
          item(each, child(frame, index, { signal: isEffect(each) || each.op === "then" ? over?.signal : undefined })),
        );
        try {
          return await (node.op === "race" ? Promise.race(branches) : Promise.any(branches));
        } finally {
          over?.abort(WITHDRAWN);
        }
      }
      case "map": {
        const items = Array.from({ length: node.times }, (_, number) => number);
        return mixAll(
          await Promise.all(items.map((number) => item(node.body, child(frame, `i${number}`, { suffix: `${frame.suffix}-${number}` })))),
        );
      }
      case "ctxMap": {
        const { times, concurrency, settle } = node;
        const keys = Array.from({ length: times }, (_, number) => `${keyOf(node.key, frame)}-${number}`);
        const work = (_item: unknown, { index }: { readonly index: number }) =>
          run(node.body, child(frame, `i${index}`, { suffix: `${frame.suffix}-${index}`, branch: `${frame.path}/i${index}` }));
        const done = await ctxMap(keys, String, work, { ...(concurrency !== undefined && { concurrency }), ...(settle && { settle }) });
        return mixAll((done as readonly (number | PromiseSettledResult<number>)[]).map(outcomeOf));
      }
      case "limit": {
        const items = Array.from({ length: node.times }, (_, number) => number);
        const work = (number: number) => item(node.body, child(frame, `i${number}`, { suffix: `${frame.suffix}-${number}` }));
        return mixAll(await limited(node.limiter, items, node.concurrency, work));
      }
      case "lock": {
        const { body } = node;
        const own = child(frame, "l");
        const lock = lockOf(node, frame);
        const holder = { priority: hash(frame.path) % 3, aside: asideOf(node, child(frame, "aside")) };
        if (isCall(body)) {
          return await hear(
            body,
            own,
            lock(() => begin(body, own) as Promise<unknown>, holder),
          );
        }
        return await lock(async () => await run(body, own), holder);
      }
      case "retry":
        return retried(node.times, (time) => item(node.body, child(frame, `t${time}`)));
      case "pages": {
        for await (const page of pages(node, frame)) {
          frame.data = mix(frame.data, page.data);
          await next(node.body, frame, `r${page.number}`);
        }
        return frame.data;
      }
      case "then":
        if (node.config) await stage.library.config;
        if (!node.lazy) return await react(node, frame);
        return node.lazy === "awaited" ? await lazily(() => react(node, frame)) : lazily(() => react(node, frame));
      case "once": {
        // Which of them comes first makes no difference: it is the same call.
        const { path } = root;
        const promise = kept.get(node.id) ?? item(node.body, { ...root, path: `${path}/once${node.id}`, data: hash(`${path} ${node.id}`) });
        kept.set(node.id, promise);
        return await promise;
      }
      case "loop":
        for (let time = 0; time < node.times; time += 1) await next(node.body, frame, `r${time}`);
        return frame.data;
      // A function that returns the promise of another one leaves without any hook telling of it.
      case "call":
        return run(node.body, child(frame, "c"));
      case "branch": {
        const key = node.each ? `${node.key}${frame.suffix}` : keyOf(node.key, frame);
        return await effects.branch(key, async () => await run(node.body, child(frame, "b", { branch: frame.path })));
      }
      case "try":
        return await runTry(node, frame);
      case "patched": {
        const isNew = stage.isChanged && decide(node.patch, frame);
        const way = isNew ? node.body : node.else;
        return way ? await run(way, child(frame, isNew ? "new" : "old")) : 0;
      }
      case "throw":
        if (node.first === undefined || stage.throws(frame.path, node.first)) throw new Error(`thrown at ${frame.path}`);
        return 0;
      case "await":
        return (await started.get(node.id)?.heard()) ?? 0;
      case "return":
      case "changed":
      case "restart":
        return 0;
    }
  }

  function lockOf({ lock }: Extract<Node, { op: "lock" }>, { suffix }: Frame): Exclusively {
    return locks?.[lock]?.[Number(suffix.at(-1) ?? 0) % 2] as Exclusively;
  }

  function asideOf({ lock }: Extract<Node, { op: "lock" }>, frame: Frame): (() => Promise<unknown>) | undefined {
    const aside = program.locks?.[lock]?.aside;
    if (aside === undefined || aside === "nothing") return undefined;
    return aside === "read" ? () => stage.library.read("cache", "x") : () => item({ op: "step", name: "aside" }, frame);
  }

  async function retried(times: number, work: (time: number) => Promise<number>): Promise<number> {
    for (let time = 0; ; time += 1) {
      try {
        return await work(time);
      } catch (error) {
        if (time === times) throw error;
        await stage.pause();
      }
    }
  }

  async function* pages(node: Extract<Node, { op: "pages" }>, frame: Frame) {
    for (let number = 0; number < node.times; number += 1) {
      const data = await run(node.within, child(frame, `w${number}`));
      yield { number, data };
    }
  }

  function decide(name: string, { path, branch }: Frame): boolean {
    stage.call(path, "patched");
    const isNew = effects.patched(name);
    stage.saw(path, { op: "fact", fact: "patched" }, isNew);
    stage.decided(`${branch} ${name}`, isNew);
    return isNew;
  }

  async function runTry(node: Extract<Node, { op: "try" }>, frame: Frame): Promise<number> {
    try {
      return await run(node.body, child(frame, 0));
    } catch (error) {
      if (!node.catch) return hash(messageOf(error));
      frame.data = mix(frame.data, hash(messageOf(error)));
      return await run(node.catch, child(frame, 1));
    } finally {
      if (node.finally) await run(node.finally, child(frame, 2));
    }
  }
}

/** As a query of a database, which begins when it is awaited. */
function lazily(begin: () => Promise<number>): Promise<number> {
  // oxlint-disable-next-line unicorn/no-thenable -- it is what is tried
  return { then: (...given: Parameters<Promise<number>["then"]>) => begin().then(...given) } as Promise<number>;
}

function child(frame: Frame, index: number | string, own: Partial<Pick<Frame, "signal" | "suffix" | "branch">> = {}): Frame {
  return {
    path: `${frame.path}/${index}`,
    suffix: own.suffix ?? frame.suffix,
    branch: own.branch ?? frame.branch,
    signal: own.signal,
    data: mix(frame.data, hash(String(index))),
  };
}

/** A key is short, and paths are not always. */
function keyOf(key: Key, { path }: Frame): string {
  return key === BY_PLACE ? `at ${hash(path).toString(36)}` : key;
}

function outcomeOf(settled: number | PromiseSettledResult<number>): number {
  if (typeof settled === "number") return settled;
  return settled.status === "fulfilled" ? settled.value : hash(messageOf(settled.reason));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const FORM = { type: "object", properties: {} };
/** The tool that handlers call. */
export const CHILD = "child";
const TWO_PEOPLE: Audience = { to: "tenant", quorum: 2 };
/** A reason of its own: without one each abort makes an exception. */
const WITHDRAWN = new Error("withdrawn");

/** FNV-1a. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

function mix(a: number, b: number): number {
  return (Math.imul(a ^ (b >>> 15), 0x85ebca6b) ^ Math.imul(b, 0xc2b2ae35) ^ (a >>> 13)) >>> 0;
}

function mixAll(values: readonly number[]): number {
  return values.reduce(mix, 17);
}
