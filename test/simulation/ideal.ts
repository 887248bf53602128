/**
 * The handler as plain asynchronous code: no journal, no runs, no crash. Effects settle as they settled for the run that ended the task, one
 * at a time and each after everything that the one before it caused.
 */
import type { Effects, JsonObject } from "@parley/core";
import { interpret, type Stage } from "./interpret.ts";
import type { Program } from "./program.ts";
import { nextTurn } from "./turn.ts";
import type { Trace } from "./witness.ts";

export interface Ideal {
  readonly end: { readonly result: JsonObject } | { readonly error: unknown } | undefined;
  readonly events: readonly string[];
}

export async function runIdeal(program: Program, trace: Trace): Promise<Ideal> {
  const events: string[] = [];
  const waiting = new Map<string, { resolve(value: unknown): void; reject(error: unknown): void }>();
  const facts = factsOf(trace);
  let calling = "";
  let end: Ideal["end"];

  const stage: Stage = {
    isChanged: trace.isChanged,
    decided: () => undefined,
    draw: () => 0,
    call(path, what) {
      calling = path;
      events.push(`${path} calls ${what}`);
    },
    saw(path, effect, value) {
      const text = effect.op === "fact" ? String(value) : (seen.get(path) ?? "nothing");
      events.push(`${path} sees ${text}`);
      return text;
    },
    sawError(path, error) {
      events.push(`${path} sees the error ${error instanceof Error ? error.message : String(error)}`);
    },
    work: () => Promise.reject(new Error("an ideal step does no work")),
    outside: () => Promise.resolve(),
    library: { config: Promise.resolve(), read: () => Promise.resolve() },
    pause: () => Promise.resolve(),
    throws: (path) => trace.thrown.has(path),
  };
  const seen = new Map<string, string>();
  for (const event of trace.events) {
    const [path = "", verb, ...rest] = event.split(" ");
    if (verb === "sees") seen.set(path, rest.join(" "));
  }

  function effect(): Promise<never> {
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // as the engine's: its failure is heard when the handler awaits it
    waiting.set(calling, { resolve: resolve as (value: unknown) => void, reject });
    return promise;
  }
  const fact = () => facts.get(calling)?.shift();
  const effects = {
    ask: effect,
    event: () => ({ answer: effect(), reading: () => KEPT }),
    readingOf: () => KEPT,
    callTool: effect,
    step: effect,
    sleep: effect,
    now: fact,
    random: fact,
    uuid: fact,
    patched: fact,
    ofCtx: <T>(promise: T) => promise,
    branch: <T>(_key: string, work: () => Promise<T>) => work(),
    keyed: <T>(_key: string, call: () => T) => call(),
    restart: effect,
  } as unknown as Effects;

  interpret(program, { round: trace.generation }, effects, stage).then(
    (result) => (end ??= { result }),
    (error: unknown) => (end ??= { error }),
  );
  await nextTurn();
  for (const { path, value, error } of trace.settled) {
    if (end) break;
    const settles = waiting.get(path);
    if (!settles) continue; // the traces will differ
    if (error === undefined) settles.resolve(value);
    else settles.reject(error);
    await nextTurn();
  }
  return { end, events };
}

/** What a schema drew is in the text of what was seen. */
const KEPT = { kept: 0, keep: () => undefined };

function factsOf({ events }: Trace): Map<string, unknown[]> {
  const facts = new Map<string, unknown[]>();
  const kinds = new Map<string, string>();
  for (const event of events) {
    const [path = "", verb, what = ""] = event.split(" ");
    if (verb === "calls") kinds.set(path, what);
    const kind = kinds.get(path);
    if (verb !== "sees" || (kind !== "now" && kind !== "random" && kind !== "uuid" && kind !== "patched")) continue;
    const values = facts.get(path) ?? [];
    values.push(kind === "uuid" ? what : kind === "patched" ? what === "true" : Number(what));
    facts.set(path, values);
  }
  return facts;
}
