#!/usr/bin/env node
/** `parley`: starts, checks and uses a Parley. Each command is a file in commands/. */
import { Command } from "commander";
import { addAnswer } from "./commands/answer.ts";
import { addAudit } from "./commands/audit.ts";
import { addCall } from "./commands/call.ts";
import { addContent } from "./commands/content.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addStart } from "./commands/start.ts";
import { addKeys } from "./commands/keys.ts";
import { addServer } from "./commands/server.ts";
import { addTasks } from "./commands/tasks.ts";
import { addWorker } from "./commands/worker.ts";

const program = new Command("parley").description("A task-elicitation server for the Model Context Protocol.").showHelpAfterError();
for (const add of [addStart, addServer, addWorker, addCall, addTasks, addAnswer, addAudit, addContent, addKeys, addDoctor]) add(program);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`parley: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
