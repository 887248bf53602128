import { AsyncLocalStorage } from "node:async_hooks";
import { describeError } from "@parley/core";
import { pino, type Logger } from "pino";
import { z } from "zod";

export const logEnvironment = {
  PARLEY_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("Lowest level that is logged."),
};

/**
 * Writes JSON lines to standard error, since standard output belongs to the output of commands. An error in `err` is reduced by
 * `describeError`: pino would write all of its members, and Redis errors carry the command with its arguments.
 */
export function createLogger(name: string, level: string): Logger {
  // A copy, because pino adds the line's own fields to this object, and they would then appear in every later line of the same work.
  const mixin = () => ({ ...fieldsOfWork.getStore() });
  return pino(
    { name, level, mixin, serializers: { err: describeError }, base: { name, pid: process.pid } },
    pino.destination({ dest: 2, sync: false }),
  );
}

const fieldsOfWork = new AsyncLocalStorage<object>();

/** Adds `fields` to every line that is logged within `work`, at any depth, in addition to the fields of enclosing work. */
export function withLogFields<T>(fields: object, work: () => T): T {
  return fieldsOfWork.run({ ...fieldsOfWork.getStore(), ...fields }, work);
}
