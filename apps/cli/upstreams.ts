/** What `parley upstreams` does: by the gateway's own parts, so that what it says is what a worker meets. */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import {
  createConnector,
  createUpstreamFetch,
  type Listing,
  mayRepeat,
  readListing,
  readUpstreams,
  type Upstream,
  wordFor,
} from "@parley/gateway";

export function listUpstreams(file: string | undefined): void {
  const upstreams = upstreamsOf(file);
  if (upstreams.length === 0) process.stdout.write("no upstreams\n");
  for (const { name, reached, prefix, concurrency } of upstreams) {
    const at = reached.by === "url" ? new URL(reached.url).origin + new URL(reached.url).pathname : `stdio ${reached.command}`;
    process.stdout.write(`${name}  ${at}  names ${JSON.stringify(`${prefix}…`)}, ${concurrency} calls at once\n`);
  }
}

/** Whether all of them answered. */
export async function testUpstreams(file: string | undefined, name: string | undefined): Promise<boolean> {
  const upstreams = name === undefined ? upstreamsOf(file) : [oneOf(file, name)];
  const answered = await Promise.all(
    upstreams.map(async (upstream) => {
      try {
        const { listing, ms, revision } = await look(upstream);
        process.stdout.write(
          `✓ ${upstream.name}: ${listing.tools.length} tools, ${listing.prompts.length} prompts, revision ${revision}, ${ms} ms\n`,
        );
        for (const left of listing.leftOut) process.stdout.write(`    left out: ${left}\n`);
        return true;
      } catch (error) {
        process.stdout.write(`✗ ${upstream.name}: ${wordFor(error)}\n`);
        return false;
      }
    }),
  );
  return answered.every(Boolean);
}

export async function showTools(file: string | undefined, name: string): Promise<void> {
  const upstream = oneOf(file, name);
  const { listing } = await look(upstream);
  for (const tool of listing.tools) {
    const repeat = mayRepeat(upstream, tool) ? "is called again if its worker dies" : "is never called again";
    process.stdout.write(`${upstream.prefix}${tool.name}  ${repeat}\n`);
  }
  for (const left of listing.leftOut) process.stdout.write(`left out: ${left}\n`);
}

interface Looked {
  readonly listing: Listing;
  readonly ms: number;
  readonly revision: string;
}

async function look(upstream: Upstream): Promise<Looked> {
  const { fetch, close } = createUpstreamFetch();
  const startedMs = performance.now();
  try {
    const session = await createConnector({ fetch, version: VERSION, deployment: "cli" }).open(upstream, { capabilities: {} });
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
  if (file === undefined || file === "") throw new Error("name the file: --file ./parley.upstreams.json, or PARLEY_UPSTREAMS");
  return readUpstreams(file, { environment: process.env });
}

function oneOf(file: string | undefined, name: string): Upstream {
  const upstreams = upstreamsOf(file);
  const found = upstreams.find((upstream) => upstream.name === name);
  if (!found) throw new Error(`no upstream is named ${name}; there are ${upstreams.map((each) => each.name).join(", ") || "none"}`);
  return found;
}

const { version: VERSION } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
