/**
 * npm run test:outages -- [--only NAME]… [--outage other|both|back|elsewhere]… [--programs FILE]
 *
 * What clients do when the front end that put their question is killed (outages.ts). docs/clients.md has the table. FILE has clients of others, which
 * are run by hand: `{ "name": ["command", "argument", …] }`. Such a program gets two more arguments. It calls the tool `greet`
 * with `{ "marker": "x" }` at the first, which is the MCP endpoint. When it is asked, it sends GET to the second, which is answered when the person answers,
 * and answers `{ "name": "Ann" }`. It prints the text of the result as its last line, or ends with another code than 0 and the reason.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { startDialects } from "../dialects/all.ts";
import { measurable } from "../dialects/rungs.ts";
import type { Told } from "../dialects/dialect.ts";
import { startOwnRedis } from "../support/shared-redis.ts";
import { clientOf, OUTAGES, type Run, type Seen, startOutages } from "./outages.ts";

type Client = (run: Run) => Promise<Told>;

const { values } = parseArgs({
  options: { only: { type: "string", multiple: true }, outage: { type: "string", multiple: true }, programs: { type: "string" } },
});
const outages = OUTAGES.filter((each) => values.outage?.includes(each) ?? true);

function ofProgram([command = "", ...args]: readonly string[]): Client {
  return async ({ url, respond }) => {
    const person = createServer((_, answer) => void respond().then(() => answer.end("Ann"))).listen(0, "127.0.0.1");
    await once(person, "listening");
    const asked = `http://127.0.0.1:${(person.address() as AddressInfo).port}/`;
    const child = spawn(command, [...args, url, asked], { stdio: ["ignore", "pipe", "pipe"], timeout: 90_000, killSignal: "SIGKILL" });
    let [said, complaint] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-4_000)));
    const [code] = (await once(child, "close")) as [number | null];
    person.closeAllConnections();
    person.close();
    const last = (text: string) => text.trim().split("\n").at(-1) ?? "";
    return code === 0 ? { text: last(said), isError: false } : { failed: last(complaint) || `code ${code}` };
  };
}

function shown({ told, afterMs, asked, calls, sessions, status }: Seen): string {
  const end = told === undefined ? "nothing" : "failed" in told ? `failed: ${told.failed.slice(0, 200)}` : `"${told.text.slice(0, 80)}"`;
  return `${end} after ${(afterMs / 1_000).toFixed(1)} s, asked ${asked}×, called ${calls}×, ${sessions} sessions, ${status}`;
}

const redis = await startOwnRedis();
const dialects = await startDialects();
try {
  const clients = measurable(dialects.all).map((each): [string, Client] => [each.name, clientOf(each)]);
  if (values.programs !== undefined) {
    const programs = JSON.parse(await readFile(values.programs, "utf8")) as Readonly<Record<string, readonly string[]>>;
    clients.push(...Object.entries(programs).map(([name, command]): [string, Client] => [name, ofProgram(command)]));
  }
  const running = await startOutages(redis.url);
  try {
    for (const [name, client] of clients) {
      if (values.only?.some((each) => name.startsWith(each)) === false) continue;
      for (const outage of outages) console.log(`${name} | ${outage} | ${shown(await running.play(outage, client))}`);
    }
  } finally {
    await running.close();
  }
} finally {
  await dialects.close();
  await redis.close();
}
