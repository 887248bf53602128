import type { Command } from "commander";
import type { ListCommand } from "./list.ts";
import { atLeastOne, type ServerOptions, withServerOptions } from "../client/options.ts";

interface OneTask extends ServerOptions {
  readonly json?: boolean;
}

const getting = async (taskId: string, { json, ...server }: OneTask) => {
  const [{ withServer }, { printTask }] = await Promise.all([import("../client/reach.ts"), import("./one.ts")]);
  await withServer(server, (client) => printTask(client, taskId, { ...(json && { json }) }));
};

const gettingShort = async (taskId: string, { json, ...server }: OneTask) => {
  const [{ withServer }, { printTaskShort }] = await Promise.all([import("../client/reach.ts"), import("./one.ts")]);
  await withServer(server, (client) => printTaskShort(client, taskId, { ...(json && { json }) }));
};

const cancelling = async (taskId: string, { json, ...server }: OneTask) => {
  const [{ withServer }, { cancelTask }] = await Promise.all([import("../client/reach.ts"), import("./one.ts")]);
  await withServer(server, (client) => cancelTask(client, taskId, { ...(json && { json }) }));
};

export function addTasks(program: Command): void {
  const tasks = withServerOptions(program.command("tasks").description("List your tasks, newest first"))
    .option("-s, --status <status...>", "Only tasks in these states: working, input_required, completed, failed or cancelled")
    .option("-l, --limit <number>", "Maximum number of tasks", atLeastOne, 100)
    .option("-w, --watch", "Keep running and print changes")
    .option("--json", "Print the tasks as JSON; with --watch, one object per line")
    .addHelpText(
      "after",
      `
Examples:
  $ parley tasks --status input_required
  $ parley tasks --watch --json`,
    )
    .action(async ({ url, dataDir, ...list }: ServerOptions & ListCommand) => {
      const [{ withServer }, { printTasks }] = await Promise.all([import("../client/reach.ts"), import("./list.ts")]);
      await withServer({ url, dataDir }, (client) => printTasks(client, list));
    });
  withServerOptions(tasks.command("get <taskId>").description("Show the state of a task, its open questions and its result"))
    .option("-j, --json", "Print the response as received")
    .action((taskId: string, _own: object, command: Command) => gettingShort(taskId, command.optsWithGlobals()));
  withServerOptions(tasks.command("cancel <taskId>").description("Cancel a task"))
    .option("--json", "Print the outcome as JSON")
    .action((taskId: string, _own: object, command: Command) => cancelling(taskId, command.optsWithGlobals()));

  withServerOptions(
    program.command("task <taskId>").description("Show a task: its state, timeline, open questions with their deadlines, and result"),
  )
    .option("--json", "Print the response of tasks/get, with the timeline")
    .action(getting);
  withServerOptions(program.command("cancel <taskId>").description("Cancel a task"))
    .option("--json", "Print the outcome as JSON")
    .action(cancelling);
}
