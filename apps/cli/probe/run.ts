/** `parley doctor --client`: serves clients until it is stopped, and says what they did. */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseDuration } from "@parley/core";
import { serveStdio } from "../stdio/run.ts";
import { print, printJson, printToStderr, jsonText } from "../terminal/terminal.ts";
import { onStop } from "../terminal/interrupt.ts";
import { FORMAT, type Report, tableOf } from "./report.ts";
import { type Probe, startProbe } from "./start.ts";

export interface ProbeCommand {
  readonly stdio?: true;
  readonly port: string;
  readonly for: string;
  readonly report?: string;
  readonly json?: true;
}

const PORT_MAX = 65_535;
const DAY_MS = 86_400_000;
const { version: VERSION } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

const INSTRUCTIONS = `Then let it call each of these, and answer what it asks:
  probe_form  a form
  probe_url   a page to open
  probe_cut   a form, while its connection is cut once
  probe_slow  ten seconds of progress; call it a second time and cancel it
Stop with Ctrl-C.`;

export async function probeClients({ stdio, port, for: time, report: file, json }: ProbeCommand): Promise<void> {
  const portNumber = Number(port);
  if (!/^\d+$/.test(port) || portNumber > PORT_MAX) throw new Error(`--port: a number from 0 to ${PORT_MAX}, not ${port}`);
  const forMs = parseDuration(time);
  if (forMs > DAY_MS) throw new Error("--for: at most 1 day");
  if (stdio) return await overStdio(file);
  const probe = await startProbe({ port: portNumber, transport: "http" });
  try {
    printToStderr(`Connect your client to ${probe.url}\n${INSTRUCTIONS}`);
    await Promise.race([stopped(), sleep(forMs, undefined, { ref: false }), probe.broken]);
    const report = reportOf(probe);
    if (file !== undefined) write(file, report);
    if (json) printJson(report);
    else show(report, file);
  } finally {
    await probe.close();
  }
}

/** Standard output belongs to the client, which also decides when this ends: the report goes to the file. */
async function overStdio(file: string | undefined): Promise<void> {
  if (file === undefined) throw new Error("with --stdio, name a file for the report: --report client.json");
  const starting = startProbe({ port: 0, transport: "stdio" });
  let written = false;
  await serveStdio({
    local: {
      url: async () => (await starting).url,
      lost: () => undefined,
      broken: starting.then(({ broken }) => broken).then(() => "the server ended"),
      async close() {
        const probe = await starting;
        // Before anything else: the process has little time once its client has gone.
        if (!written) write(file, reportOf(probe));
        written = true;
        await probe.close();
      },
    },
  });
}

function stopped(): Promise<void> {
  return new Promise((resolve) => onStop().addEventListener("abort", () => resolve()));
}

function reportOf({ recorder }: Probe): Report {
  return { format: FORMAT, parley: VERSION, at: new Date().toISOString(), clients: recorder.clients(), leftOut: recorder.leftOut };
}

function write(file: string, report: Report): void {
  writeFileSync(file, `${jsonText(report, 2)}\n`);
}

function show({ clients, leftOut }: Report, file: string | undefined): void {
  if (clients.length === 0) return print("No client connected.");
  for (const line of tableOf(clients)) print(line);
  print("\n✓ did it   ✗ did not, though it was asked to   – was not asked to");
  for (const { name, version, overclaims } of clients) for (const says of overclaims) print(`! ${name} ${version} ${says}`);
  if (leftOut > 0) print(`! ${leftOut} more clients were not recorded`);
  print(file === undefined ? "For a report that you can send to others, add --report client.json." : `The report is in ${file}.`);
}
