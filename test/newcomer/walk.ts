/**
 * From `npm create parley` to the first tool of one's own that asks, is called by a client, and is answered: as the README of the new project and
 * that of @parley/sdk say, typed by somebody who has read nothing else. Each step takes what the machine needs; typing and reading is added
 * at the pace of a person who does neither fast.
 */
import { readdirSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Machine } from "./machine.ts";

export interface Step {
  readonly does: string;
  readonly ms: number;
  /** Characters that the person types, and words that they read. */
  readonly typed: number;
  readonly read: number;
}

export interface Walk {
  readonly machine: Machine;
  /** Where the person is. */
  readonly folder: string;
  /** The packages, since those of this checkout are in no registry. */
  readonly tarballs: string;
  readonly port: number;
}

/** A slow typist, and a slow reader: characters and words per minute. */
const TYPED_PER_MINUTE = 150;
const READ_PER_MINUTE = 150;

/** What the steps take with a person. */
export function totalMs(steps: readonly Step[]): number {
  return steps.reduce((sum, { ms, typed, read }) => sum + ms + 60_000 * (typed / TYPED_PER_MINUTE + read / READ_PER_MINUTE), 0);
}

/** Throws an Error with what was printed if a step does not do what its README says. */
export async function walk({ machine, folder, tarballs, port }: Walk): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const packed = readdirSync(tarballs).map((file) => join(tarballs, file));
  const creator = packed.find((file) => file.includes("create-parley"));
  const project = join(folder, "my-tools");

  async function step<T>(does: string, cost: { readonly typed: string; readonly read?: string }, work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const result = await work();
    const read = cost.read?.split(/\s+/).length ?? 0;
    steps.push({ does, ms: performance.now() - startedMs, typed: cost.typed.length, read });
    return result;
  }
  /** `typed` if the person types something else, because their packages are in the registry. */
  async function does(command: string, says: RegExp, { cwd = project, typed = command, read = "" } = {}): Promise<string> {
    return await step(typed, { typed, read }, async () => {
      const { code, printed } = await machine.run(command, cwd);
      if (code !== 0 || !says.test(printed)) throw new Error(`${command} (exit ${code}) does not say ${String(says)}:\n${printed}`);
      return printed;
    });
  }

  await does(`npm exec --yes --package=${creator} -- create-parley my-tools`, /^Created my-tools in my-tools\. Next:\n/, {
    cwd: folder,
    typed: "npm create parley my-tools",
    read: await readFile(join(import.meta.dirname, "../../packages/create-parley/template/README.md"), "utf8"),
  });
  const installed = await does(`npm install ${packed.filter((file) => file !== creator).join(" ")}`, /added \d+ packages/, {
    typed: "cd my-tools && npm install",
  });
  if (/warn|deprecated/.test(installed)) throw new Error(`npm install warns:\n${installed}`);
  await does("npm test", /pass 3\n[^]*fail 0/);

  const readme = await readFile(join(project, "node_modules/@parley/sdk/README.md"), "utf8");
  const [, own = ""] = /```ts\n([^]*?)```/.exec(readme) ?? [];
  const exported = 'export { greet } from "./greet.ts";\n';
  await step("write a tool", { typed: own + exported, read: readme }, async () => {
    await writeFile(join(project, "tools/greet.ts"), own);
    await appendFile(join(project, "tools/index.ts"), exported);
  });
  await does("npm run check", /tsc --noEmit/);

  const url = `http://127.0.0.1:${port}/mcp`;
  const dev = `npm run dev -- --port ${port}`;
  const server = await step("npm run dev", { typed: "npm run dev" }, async () => await machine.start(dev, project, "Parley serves"));
  try {
    await step("call it from a client, and answer", { typed: "Greet me. Ada" }, async () => {
      await called(new StreamableHTTPClientTransport(new URL(url)) as Transport);
    });
    await does(`npx parley call greet --no-input --no-wait --url ${url}`, /^\d-[\w-]+\n/m, { typed: "npx parley call greet --no-input" });
    await does(`npx parley inbox --list --url ${url}`, /^greet asks[^]*name: What is your name\?/m, { typed: "npx parley inbox --list" });
  } finally {
    await server.stop();
  }
  return steps;
}

async function called(transport: Transport): Promise<void> {
  const client = new Client({ name: "newcomer", version: "1.0.0" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    if (params.message !== "What is your name?") throw new Error(`asks ${params.message}`);
    return { action: "accept", content: { name: "Ada" } };
  });
  await client.connect(transport);
  try {
    const { content } = await client.callTool({ name: "greet", arguments: {} });
    const text = JSON.stringify(content);
    if (!text.includes("Hello, Ada")) throw new Error(`greet returns ${text}`);
  } finally {
    await client.close();
  }
}

/** In the same project: every other command finds its tools as well. */
export async function otherCommands({ machine, folder }: Pick<Walk, "machine" | "folder">): Promise<void> {
  const project = join(folder, "my-tools");
  const says = async (command: string, wanted: RegExp, cwd = project) => {
    const { code, printed } = await machine.run(command, cwd);
    if (code !== 0 || !wanted.test(printed)) throw new Error(`${command} (exit ${code}) does not say ${String(wanted)}:\n${printed}`);
  };
  await says("npx parley doctor", /✓ tools: 2 tools/);
  await says("npx parley install claude-desktop --print", /"--tools",\s+"[^"]+\/my-tools\/tools\/index\.ts"/);

  const recorded = `
    import { startTool } from "@parley/sdk/testing";
    import { greet } from "../tools/greet.ts";
    console.log(JSON.stringify(await (await startTool(greet)).exported()));`;
  await writeFile(join(project, "tests/export.ts"), recorded);
  await says("node tests/export.ts > waiting.jsonl && npx parley replay waiting.jsonl", /1 task[^]*continue/);

  const command = join(project, "node_modules/.bin/parley");
  await called(new StdioClientTransport({ command, args: ["stdio"], cwd: project, env: { ...machine.env }, stderr: "ignore" }));
}

const ESM = `import { defineTool } from "@parley/sdk";
export const hello = defineTool({ name: "hello", async run(_args, ctx) { return "Hello, " + (await ctx.text("name", { message: "Your name?" })); } });
`;

/** A project that \`npm init -y\` makes: its files are CommonJS. */
export async function plainProject({ machine, folder, tarballs }: Omit<Walk, "port">): Promise<void> {
  const project = join(folder, "plain");
  const packed = readdirSync(tarballs).filter((file) => !file.includes("create-parley"));
  const done = async (line: string, cwd = project) => {
    const { code, printed } = await machine.run(line, cwd);
    return { code, printed };
  };
  await done(`${process.execPath} -e 'fs.mkdirSync("plain")' && cd plain && npm init -y`, folder);
  const install = await done(`npm install ${packed.map((file) => join(tarballs, file)).join(" ")}`);
  if (install.code !== 0) throw new Error(install.printed);
  await writeFile(join(project, "tools.ts"), ESM);
  await writeFile(join(project, "tools.mts"), ESM);
  const refused = await done("npx parley doctor --tools ./tools.ts");
  if (refused.code !== 1 || !/set "type": "module" there, or name the file \.mts/.test(refused.printed)) throw new Error(refused.printed);
  const served = await done("npx parley doctor --tools ./tools.mts");
  if (!/✓ tools: 1 tool/.test(served.printed)) throw new Error(served.printed);
}
