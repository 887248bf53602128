import { taskId as toTaskId } from "@modelcontextprotocol/ext-tasks/core";
import type { Command } from "commander";
import { connect } from "../connect.ts";
import { accessToken } from "../token.ts";
import { showTask } from "../show.ts";
import { DEFAULT_URL } from "../url.ts";

interface TaskOptions {
  readonly url: string;
  readonly json?: boolean;
}

export function addTasks(program: Command): void {
  const tasks = program.command("tasks").description("shows and cancels tasks");
  tasks
    .command("get <taskId>")
    .description("the state of a task, its open questions, its result")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)", DEFAULT_URL)
    .option("-j, --json", "print the response as it was received")
    .action(async (taskId: string, { url, json }: TaskOptions) => {
      const { session, close } = await connect(url, { token: accessToken() });
      try {
        const task = await session.task(toTaskId(taskId)).snapshot();
        process.stdout.write(`${json ? JSON.stringify(task.raw, null, 2) : showTask(task)}\n`);
      } finally {
        await close();
      }
    });
  tasks
    .command("cancel <taskId>")
    .description("cancels a task")
    .option("-u, --url <url>", "URL of the MCP endpoint (PARLEY_URL)", DEFAULT_URL)
    .action(async (taskId: string, { url }: TaskOptions) => {
      const { session, close } = await connect(url, { token: accessToken() });
      try {
        await session.task(toTaskId(taskId)).cancel();
        process.stdout.write(`${showTask(await session.task(toTaskId(taskId)).snapshot())}\n`);
      } finally {
        await close();
      }
    });
}
