/** `defineModule`: resources that tools share in a worker, such as a connection pool or settings that are read once. */
import { type Module as CoreModule, ParleyError } from "@parley/core";
import { markDefinition } from "./definition.ts";
import { DefinitionError } from "../failures.ts";
import { checkKinds, FUNCTION } from "./kinds.ts";

/** What `defineModule` takes. */
export interface ModuleDefinition<T> {
  /** 1 to 64 of A-Z a-z 0-9 _ - . and /, for logs and errors. */
  readonly name: string;
  /** Called by a worker before its first run. An error ends the start of the worker. */
  start(): T | Promise<T>;
  /** Called after the worker's last run. */
  stop?(value: T): void | Promise<void>;
}

/** Export it together with the tools: workers start the modules that PARLEY_TOOLS exports. */
export interface Module<T> extends CoreModule {
  /** The value that `start` returned. Throws ParleyError MODULE_NOT_STARTED on front ends, and before and after a worker's runs. */
  use(): T;
}

const NAME = /^[A-Za-z0-9_./-]{1,64}$/;

interface Running<T> {
  readonly value: T;
}

/** Lets a test replace the value that `start` would return. */
const PROVIDE = Symbol.for("parley.module.provide");

interface Provided<T> {
  [PROVIDE](value: T): () => void;
}

/**
 * Defines a module. Workers start their modules one after another, in the order in which they are exported, and stop them in reverse order. A value that
 * must not change between replays, such as a setting, still has to be read in a step. Throws DefinitionError.
 */
export function defineModule<T>({ name, start, stop }: ModuleDefinition<T>): Module<T> {
  if (typeof name !== "string" || !NAME.test(name))
    throw new DefinitionError(`module name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - . /`);
  if (typeof start !== "function") throw new DefinitionError(`module ${name} has no start: give the function that returns its value`);
  checkKinds(`module ${name}`, { stop }, { stop: FUNCTION });
  let users = 0;
  let running: Running<T> | undefined;
  let starting: Promise<Running<T>> | undefined;

  const made: Module<T> & Provided<T> = {
    kind: "module",
    name,
    async start() {
      starting ??= (async () => ({ value: await start() }))();
      try {
        running = await starting;
        users += 1;
      } catch (error) {
        starting = undefined;
        throw error;
      }
    },
    async stop() {
      users = Math.max(0, users - 1);
      if (users > 0 || !running) return;
      const { value } = running;
      running = undefined;
      starting = undefined;
      await stop?.(value);
    },
    use() {
      if (!running) throw new ParleyError("MODULE_NOT_STARTED", `the module "${name}" is not started in this process`);
      return running.value;
    },
    [PROVIDE](value) {
      const before = running;
      running = { value };
      return () => void (running = before);
    },
  };
  return markDefinition(made);
}

/** For tests: the value that `use` gives until the returned function is called. */
export function provide<T>(module: Module<T>, value: T): () => void {
  return (module as Module<T> & Provided<T>)[PROVIDE](value);
}
