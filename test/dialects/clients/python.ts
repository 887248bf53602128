/**
 * The Python clients: the official SDK, blocking and with `input_required`, and FastMCP with its tasks. They run in one process for
 * all calls.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { MAIN } from "../../support/pipe.ts";
import { ENVIRONMENT, missingPython } from "../../support/python-packages.ts";
import { type Call, type Dialect, failedWith, type Told, WITHOUT_TASKS } from "../dialect.ts";
import type { Reply } from "../scenarios.ts";

type Line =
  | { readonly type: "ready" }
  | { readonly type: "question"; readonly id: number; readonly question: number; readonly message: string }
  | { readonly type: "back"; readonly id: number }
  | { readonly type: "told"; readonly id: number; readonly told: Told };

interface Running {
  readonly call: Call;
  readonly ended: (told: Told) => void;
}

/** The dialects, or why there are none. */
export async function startPython(): Promise<
  { readonly dialects: readonly Dialect[]; close(): Promise<void> } | { readonly missing: string }
> {
  const missing = await missingPython();
  if (missing !== undefined) return { missing };

  const child = spawn(join(ENVIRONMENT, "bin/python"), [join(import.meta.dirname, "python-client.py"), process.execPath, MAIN], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const running = new Map<number, Running>();
  let complaints = "";
  let ids = 0;
  const ready = Promise.withResolvers<void>();
  const tell = (line: object) => void child.stdin.write(`${JSON.stringify(line)}\n`);
  child.stderr.on("data", (chunk: Buffer) => (complaints = (complaints + chunk.toString()).slice(-4_000)));
  child.once("exit", () => {
    ready.reject(new Error(`the Python clients ended: ${complaints}`));
    for (const { ended } of running.values()) ended({ failed: `the Python clients ended: ${complaints}` });
  });
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as Line;
    if (line.type === "ready") return ready.resolve();
    const { call, ended } = running.get(line.id) ?? {};
    if (line.type === "told") ended?.(line.told);
    else if (line.type === "back") call?.back();
    else
      call?.respond(line).then(
        (reply: Reply) => tell({ type: "reply", id: line.id, question: line.question, reply }),
        (error: unknown) => ended?.(failedWith(error)),
      );
  });
  await ready.promise;

  function dialect(
    name: string,
    client: string,
    { cuts = false, ...rest }: Pick<Dialect, "cannot"> & { readonly cuts?: boolean },
  ): Dialect {
    return {
      name,
      ...rest,
      async run(call) {
        const id = (ids += 1);
        const { promise, resolve: ended } = Promise.withResolvers<Told>();
        running.set(id, { call, ended });
        const { url, tool, args, meanwhile = null } = call;
        tell({ type: "call", id, client, url, tool, args, meanwhile });
        if (meanwhile === "cancel") void call.asked.then(() => tell({ type: "cancel", id }));
        if (meanwhile === "leave" && cuts) void call.asked.then(call.cut).then(call.back);
        return await promise.finally(() => running.delete(id));
      },
    };
  }
  return {
    dialects: [
      dialect("Python mcp, blocking", "blocking", { cuts: true, cannot: {} }),
      dialect("Python mcp, 2026-07-28 without tasks", "input_required", WITHOUT_TASKS),
      dialect("FastMCP with fastmcp-tasks", "fastmcp_task", { cannot: {} }),
    ],
    async close() {
      if (child.exitCode !== null) return;
      const exit = once(child, "exit");
      child.kill();
      await exit;
    },
  };
}
