/** Registers the commands. Each file in commands/ imports its implementation only when the command runs, since imports take most of a command's time. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { addAnswer } from "./commands/answer.ts";
import { addAudit } from "./commands/audit.ts";
import { addCall } from "./commands/call.ts";
import { addChanges } from "./commands/changes.ts";
import { addCompletion } from "./commands/completion.ts";
import { addContent } from "./commands/content.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addGrants } from "./commands/grants.ts";
import { addInstall } from "./commands/install.ts";
import { addStart } from "./commands/start.ts";
import { addKeys } from "./commands/keys.ts";
import { addLogin } from "./commands/login.ts";
import { addServer } from "./commands/server.ts";
import { addStdio } from "./commands/stdio.ts";
import { addTasks } from "./commands/tasks.ts";
import { addTools } from "./commands/tools.ts";
import { addUpstreams } from "./commands/upstreams.ts";
import { addWorker } from "./commands/worker.ts";
import { PIPE_CLOSED, PipeClosed, untilOutputLost } from "./lost-output.ts";
import { clean, jsonText, printToStderr } from "./terminal.ts";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };

export const program = new Command("parley")
  .description("A task-elicitation server for the Model Context Protocol")
  // Only before the command: a tool may have an argument of this name.
  .enablePositionalOptions()
  .version(version, "-V, --version", "Print the version")
  .helpOption("-h, --help", "Show help for a command")
  .helpCommand("help [command]", "Show help for a command")
  .showHelpAfterError();
const COMMANDS = [
  addStart,
  addDev,
  addServer,
  addWorker,
  addStdio,
  addInstall,
  addCall,
  addTools,
  addTasks,
  addAnswer,
  addLogin,
  addChanges,
  addAudit,
  addContent,
  addKeys,
  addGrants,
  addUpstreams,
  addDoctor,
  addCompletion,
];
for (const add of COMMANDS) add(program);

export async function run(): Promise<void> {
  try {
    await untilOutputLost(() => program.parseAsync());
  } catch (error) {
    if (error instanceof PipeClosed) process.exit(PIPE_CLOSED);
    const message = error instanceof Error ? error.message : String(error);
    const json = process.argv.includes("--json") || process.argv.includes("-j");
    printToStderr(json ? jsonText({ error: { message, ...codeOf(error) } }) : `parley: ${clean(message)}`);
    process.exit(1);
  }
}

/** The JSON-RPC error code, if the server refused the request. */
function codeOf(error: unknown): { readonly code?: number } {
  const { code } = error as { code?: unknown };
  return typeof code === "number" ? { code } : {};
}
