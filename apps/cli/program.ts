/** Registers the commands. Each file in commands/ imports its implementation only when the command runs, since imports take most of a command's time. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { addAnswer } from "./answer/command.ts";
import { addAround } from "./around/command.ts";
import { addAudit } from "./audit/command.ts";
import { addCall } from "./call/command.ts";
import { addChanges } from "./changes/command.ts";
import { addCompletion } from "./completion/command.ts";
import { addContent } from "./content/command.ts";
import { addDev } from "./dev/command.ts";
import { addDoctor } from "./doctor/command.ts";
import { addGrants } from "./grants/command.ts";
import { addInbox } from "./inbox/command.ts";
import { addInstall } from "./install/command.ts";
import { addPolicy } from "./policy/command.ts";
import { addStart } from "./serve/start.ts";
import { addKeys } from "./keys/command.ts";
import { addLogin } from "./login/command.ts";
import { addServer } from "./serve/server.ts";
import { addPurge } from "./purge/command.ts";
import { addStdio } from "./stdio/command.ts";
import { addTasks } from "./tasks/command.ts";
import { addTools } from "./tools/command.ts";
import { addUpstreams } from "./upstreams/command.ts";
import { addWebhooks } from "./webhooks/command.ts";
import { addWorker } from "./serve/worker.ts";
import { projectTools } from "./project.ts";
import { PIPE_CLOSED, PipeClosed, untilOutputLost } from "./terminal/lost-output.ts";
import { clean, jsonText, printToStderr } from "./terminal/terminal.ts";

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
  addInbox,
  addAnswer,
  addAround,
  addLogin,
  addChanges,
  addAudit,
  addContent,
  addKeys,
  addGrants,
  addPurge,
  addUpstreams,
  addPolicy,
  addWebhooks,
  addDoctor,
  addCompletion,
];
for (const add of COMMANDS) add(program);

export async function run(): Promise<void> {
  try {
    // For every command alike: each reads the setting, and so does what it starts.
    const tools = process.env["PARLEY_TOOLS"] ? undefined : projectTools(process.cwd());
    if (tools !== undefined) process.env["PARLEY_TOOLS"] = tools;
    await untilOutputLost(() => program.parseAsync());
  } catch (error) {
    if (error instanceof PipeClosed) process.exit(PIPE_CLOSED);
    const message = error instanceof Error ? error.message : String(error);
    const json = process.argv.includes("--json") || process.argv.includes("-j");
    printToStderr(json ? jsonText({ error: { message, ...codeOf(error) } }) : `parley: ${clean(message)}`);
    process.exit(1);
  }
}

/** The code of a refusal of the server: of JSON-RPC, or of docs/errors.md. */
function codeOf(error: unknown): { readonly code?: number | string } {
  const { code, problem } = error as { code?: unknown; problem?: { readonly code?: string } };
  if (typeof code === "number") return { code };
  return problem?.code === undefined ? {} : { code: problem.code };
}
