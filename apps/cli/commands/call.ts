import type { JsonValue } from "@modelcontextprotocol/ext-tasks/core";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import type { Command } from "commander";
import { connect, type Respond } from "../connect.ts";
import { accessToken } from "../token.ts";
import { follow, printAsk, printEnd } from "../follow.ts";
import { type Elicitation, promptFor, split } from "../form.ts";
import { answerAsk } from "../answer-ask.ts";
import { showResult, type ToolResult } from "../show.ts";
import { DEFAULT_URL } from "../url.ts";

interface CallOptions {
  readonly url: string;
  readonly arg: readonly string[];
  readonly json?: string;
  readonly wait: boolean;
  readonly interactive?: boolean;
}

export function addCall(program: Command): void {
  program
    .command("call <tool>")
    .description("calls a tool and waits for its result; questions are printed with how to answer them")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)", DEFAULT_URL)
    .option(
      "-a, --arg <name=value>",
      "an argument; a value that is valid JSON is read as JSON",
      (given: string, all: string[]) => [...all, given],
      [],
    )
    .option("-j, --json <object>", "all arguments as JSON")
    .option("-i, --interactive", "answer the tool's questions on this terminal")
    .option("--no-wait", "print the task's id and exit")
    .action(async (tool: string, options: CallOptions) => {
      const { session, close } = await connect(options.url, { respond: respondOn(process.stdin.isTTY), token: accessToken() });
      try {
        const execution = await session.callTool(tool, argumentsOf(options));
        if (execution.kind === "immediate") {
          const result = resultFromTaskOutcome(await execution.result()) as unknown as ToolResult;
          process.stdout.write(`${showResult(result)}\n`);
          if (result.isError) process.exitCode = 1;
          return;
        }
        const { taskId } = execution.handle;
        // The terminal follows the task itself: a person may answer elsewhere, and leaving must not cancel it.
        await execution.detach();
        // Closing the session before the execution has noticed would cancel the task.
        await execution.result();
        if (!options.wait) {
          process.stdout.write(`${taskId}\n`);
          return;
        }
        process.stderr.write(`task ${taskId}\n`);
        const onAsk = options.interactive
          ? async (key: string) => void (await answerAsk(session, { taskId, key, given: {} }))
          : printAsk(taskId);
        printEnd(await follow(session, { taskId, onAsk }));
      } finally {
        await close();
      }
    });
}

function argumentsOf({ arg, json }: CallOptions): Record<string, JsonValue> {
  const given = arg.map(split).map(([name, value]) => [name, parsed(value)] as const);
  return { ...(json === undefined ? {} : (JSON.parse(json) as Record<string, JsonValue>)), ...Object.fromEntries(given) };
}

function parsed(value: string): JsonValue {
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}

/** For what a tool asks before there is a task that somebody else could answer. */
function respondOn(terminal: boolean): Respond {
  return (async (request: { kind: string; params?: unknown }) => {
    if (request.kind !== "elicitation") throw new Error(`the tool asks the client for ${request.kind}, which a terminal cannot give`);
    if (!terminal) throw new Error("the tool asks something before it hands out a task: call it from a terminal");
    return (await promptFor(request.params as Elicitation)) ?? { action: "cancel" };
  }) as Respond;
}
