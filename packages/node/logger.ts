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
 * JSON lines on standard error: standard output belongs to what a command prints. Only what `describeError` takes from an error in `err` is
 * written: pino would write every member, and Redis' errors carry the command with its arguments.
 */
export function createLogger(name: string, level: string): Logger {
  // A copy: pino adds the line's own fields to what it is given, and they would stand in every later line of the same work.
  const mixin = () => ({ ...fieldsOfWork.getStore() });
  return pino(
    { name, level, mixin, serializers: { err: describeError }, base: { name, pid: process.pid } },
    pino.destination({ dest: 2, sync: false }),
  );
}

const fieldsOfWork = new AsyncLocalStorage<object>();

/** Every line that is logged within `work`, however deep, carries these fields beside those of the work around it. */
export function withLogFields<T>(fields: object, work: () => T): T {
  return fieldsOfWork.run({ ...fieldsOfWork.getStore(), ...fields }, work);
}
