/** Implements `parley upstreams`. It uses the gateway's own code, so that its findings match what a worker will see. */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import {
  createConnector,
  createUpstreamFetch,
  type Listing,
  LISTING_CAPABILITIES,
  mayRepeat,
  readListing,
  readUpstreams,
  type Upstream,
  describeFailure,
} from "@parley/gateway";
import { clean, cleanLine, print, printJson } from "../terminal/terminal.ts";
import { counted } from "../terminal/counted.ts";

export interface UpstreamsCommand {
  readonly file?: string;
  readonly json?: true;
}

export function listUpstreams({ file, json }: UpstreamsCommand): void {
  const upstreams = upstreamsOf(file).map(({ name, reached, prefix, concurrency }) => {
    // The rest of a URL and the arguments of a command may contain secrets.
    const at = reached.by === "url" ? new URL(reached.url).origin + new URL(reached.url).pathname : `stdio ${reached.command}`;
    return { name, at, prefix, concurrency };
  });
  if (json) return printJson({ upstreams });
  if (upstreams.length === 0) print("no upstreams");
  for (const { name, at, prefix, concurrency } of upstreams)
    print(`${name}  ${at}  names ${JSON.stringify(`${prefix}…`)}, ${counted(concurrency, "call")} at once`);
}

/** Returns whether all of them responded. */
export async function testUpstreams({ file, json }: UpstreamsCommand, name: string | undefined): Promise<boolean> {
  const upstreams = name === undefined ? upstreamsOf(file) : [oneOf(file, name)];
  const answered = await Promise.all(
    upstreams.map(async (upstream) => {
      const { name: named } = upstream;
      try {
        const { listing, ms, revision } = await inspect(upstream);
        const { tools, prompts, resources, templates, leftOut } = listing;
        const counts = { tools: tools.length, prompts: prompts.length, resources: resources.length, templates: templates.length };
        if (json) return { name: named, answers: true, ...counts, revision, ms, leftOut };
        const kinds = Object.entries(counts).map(([kind, count]) => counted(count, kind.slice(0, -1)));
        print(`✓ ${named}: ${kinds.join(", ")}, revision ${cleanLine(revision)}, ${ms} ms`);
        for (const left of leftOut) print(`    left out: ${clean(left)}`);
        return { answers: true };
      } catch (error) {
        const { problem, stderr } = problemOf(error);
        if (json) return { name: named, answers: false, problem, ...(stderr.length > 0 && { stderr }) };
        print(`✗ ${named}: ${clean(problem)}`);
        for (const line of stderr) print(`    ${cleanLine(line)}`);
        return { answers: false };
      }
    }),
  );
  if (json) printJson({ upstreams: answered });
  return answered.every(({ answers }) => answers);
}

export async function showTools({ file, json }: UpstreamsCommand, name: string): Promise<void> {
  const upstream = oneOf(file, name);
  const { listing } = await inspect(upstream).catch((error: unknown) => {
    const { problem, stderr } = problemOf(error);
    throw new Error([`${name}: ${problem}`, ...stderr].join("\n    "));
  });
  const tools = listing.tools.map((tool) => ({ name: `${upstream.prefix}${tool.name}`, mayRepeat: mayRepeat(upstream, tool) }));
  if (json) return printJson({ tools, leftOut: listing.leftOut });
  for (const tool of tools)
    print(`${cleanLine(tool.name)}  ${tool.mayRepeat ? "is called again if its worker dies" : "is never called again"}`);
  for (const left of listing.leftOut) print(`left out: ${clean(left)}`);
}

interface Inspected {
  readonly listing: Listing;
  readonly ms: number;
  readonly revision: string;
}

/** With the last lines that the command of the upstream printed to standard error. */
class InspectError extends Error {
  readonly stderr: readonly string[];
  constructor(cause: unknown, stderr: readonly string[]) {
    super("upstream could not be inspected", { cause });
    this.stderr = stderr;
  }
}

function problemOf(error: unknown): { readonly problem: string; readonly stderr: readonly string[] } {
  return error instanceof InspectError
    ? { problem: describeFailure(error.cause), stderr: error.stderr }
    : { problem: describeFailure(error), stderr: [] };
}

const STDERR_CHARS_MAX = 4_000;
const STDERR_LINES_MAX = 10;

/** Throws InspectError. */
async function inspect(upstream: Upstream): Promise<Inspected> {
  let printed = "";
  const onStderr = (_name: string, text: string) => void (printed = `${printed}${text}`.slice(-STDERR_CHARS_MAX));
  try {
    return await inspectWith(upstream, onStderr);
  } catch (error) {
    const lines = printed.split("\n").filter((line) => line.trim() !== "");
    throw new InspectError(error, lines.slice(-STDERR_LINES_MAX));
  }
}

async function inspectWith(upstream: Upstream, onStderr: (name: string, text: string) => void): Promise<Inspected> {
  const { fetch, close } = createUpstreamFetch();
  const startedMs = performance.now();
  try {
    const connector = createConnector({ fetch, version: VERSION, deployment: "cli", onStderr });
    const session = await connector.open(upstream, { capabilities: LISTING_CAPABILITIES });
    try {
      const listing = await readListing(session, upstream);
      return {
        listing,
        ms: Math.round(performance.now() - startedMs),
        revision: session.client.getNegotiatedProtocolVersion() ?? "unknown",
      };
    } finally {
      await session.close();
    }
  } finally {
    await close();
  }
}

function upstreamsOf(file = process.env["PARLEY_UPSTREAMS"]): readonly Upstream[] {
  if (file === undefined || file === "") throw new Error("set the file with --file ./parley.upstreams.json or PARLEY_UPSTREAMS");
  return readUpstreams(file, { environment: process.env });
}

function oneOf(file: string | undefined, name: string): Upstream {
  const upstreams = upstreamsOf(file);
  const found = upstreams.find((upstream) => upstream.name === name);
  if (!found) throw new Error(`there is no upstream ${name}; the file lists ${upstreams.map((each) => each.name).join(", ") || "none"}`);
  return found;
}

const { version: VERSION } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
