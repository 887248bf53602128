/** A tool as core sees it, with defaults for everything that a test does not state. */
import type { Tool } from "./catalogue.ts";
import type { Effects } from "./effects.ts";
import type { JsonObject } from "./task.ts";

const HOUR = 3_600_000;

export function toolNamed(
  name: string,
  run: (effects: Effects, args: JsonObject) => Promise<JsonObject>,
  { settings, ...more }: Partial<Omit<Tool, "kind" | "name" | "run" | "settings">> & { readonly settings?: Partial<Tool["settings"]> } = {},
): Tool {
  return {
    kind: "tool",
    name,
    inputSchema: { type: "object" },
    task: "optional",
    askFirst: false,
    earlyReplies: false,
    needs: {},
    settings: { attempts: 1, backoffMs: 1, runTimeoutMs: HOUR, retentionMs: 24 * HOUR, ...settings },
    readArguments: (args) => ({ ok: true, args }),
    ...more,
    run: (args, effects) => run(effects, args),
  };
}
