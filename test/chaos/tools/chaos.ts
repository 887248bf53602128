/**
 * A tool that does what its arguments say and leaves evidence: one line of JSON for each event, in one file for all processes.
 *
 * Each line is written at once (O_APPEND), so the lines are in the order of the events, and the lines of a killed process remain.
 * test/chaos/evidence.ts explains the marks.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@parley/sdk";
import { z } from "zod";
import type { Mark } from "../evidence.ts";
import { NOBODY } from "../plan.ts";

const actions = z.array(
  z.discriminatedUnion("do", [
    z.object({ do: z.literal("step"), name: z.string(), workMs: z.number() }),
    z.object({ do: z.literal("ask"), names: z.array(z.string()), timeoutMs: z.number().optional() }),
    z.object({ do: z.literal("sleep"), name: z.string(), ms: z.number() }),
  ]),
);

export const chaos = defineTool({
  name: "chaos",
  input: z.object({ lifecycle: z.number(), evidence: z.string(), actions }),
  async run(input, ctx) {
    // This very run and not the task's: it is not recorded on purpose.
    const run = randomUUID();
    const mark = (each: Omit<Mark, "task" | "run">) =>
      appendFileSync(input.evidence, `${JSON.stringify({ task: ctx.taskId, run, ...each })}\n`);
    const effects: Record<string, string> = {};
    const answers: Record<string, string> = {};

    for (const action of input.actions) {
      switch (action.do) {
        case "step":
          effects[action.name] = await ctx.step(action.name, async ({ idempotencyKey }) => {
            const effect = randomUUID();
            await sleep(action.workMs / 2);
            mark({ mark: "effect", name: action.name, value: effect, key: idempotencyKey });
            await sleep(action.workMs / 2);
            return effect;
          });
          mark({ mark: "recorded", name: action.name, value: effects[action.name] ?? "" });
          break;
        case "ask":
          await Promise.all(
            action.names.map(async (name) => {
              const { value } = await ctx.elicit(name, {
                message: `What is ${name} of ${input.lifecycle}?`,
                schema: z.object({ value: z.string().max(100) }),
                ...(action.timeoutMs !== undefined && {
                  timeout: `${action.timeoutMs}ms` as const,
                  onTimeout: { default: { value: NOBODY } },
                }),
              });
              mark({ mark: "answer", name, value });
              answers[name] = value;
            }),
          );
          break;
        case "sleep":
          await ctx.sleep(action.name, `${action.ms}ms`);
          break;
      }
    }
    return JSON.stringify({ effects, answers });
  },
});
