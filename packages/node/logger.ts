import { pino, type Logger } from "pino";
import { z } from "zod";

export const logEnvironment = {
  PARLEY_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("Lines below this level are not written."),
};

/** JSON lines on standard error: standard output belongs to what a command prints. */
export function createLogger(name: string, level: string): Logger {
  return pino({ name, level, base: { name, pid: process.pid } }, pino.destination({ dest: 2, sync: false }));
}
