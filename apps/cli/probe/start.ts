/** A server of its own on this machine, with the tools that clients are tried with, and the recorder in front of it. It keeps nothing once it is closed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveEverything } from "../serve/serve-all.ts";
import { createRecorder, type Recorder } from "./record.ts";
import type { ClientReport } from "./report.ts";
import { openWire } from "./wire.ts";

export interface Probe {
  /** URL of the MCP endpoint. */
  readonly url: string;
  readonly recorder: Recorder;
  /** Resolves when the server cannot continue. */
  readonly broken: Promise<void>;
  close(): Promise<void>;
}

export interface ProbeOptions {
  readonly port: number;
  /** How clients reach it. */
  readonly transport: ClientReport["transport"];
  /** Settings of its server. Those of this process are not read: they may name a deployment's Redis. */
  readonly environment?: Readonly<Record<string, string>>;
}

const TOOLS = fileURLToPath(new URL(`tools${extname(import.meta.filename)}`, import.meta.url));

export async function startProbe({ port, transport, environment = {} }: ProbeOptions): Promise<Probe> {
  const recorder = createRecorder(transport);
  const wire = await openWire(port, recorder);
  const directory = await mkdtemp(join(tmpdir(), "parley-probe-"));
  const discard = async () => {
    await wire.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const server = await serveEverything({
      port: "0",
      tools: TOOLS,
      dataDir: join(directory, "redis"),
      environment: {
        PARLEY_LOG_LEVEL: "error",
        // The addresses of pages lead through the wire, too.
        PARLEY_PUBLIC_URL: wire.url,
        // A call that is cut can be taken up again from its first event.
        PARLEY_RESUMABLE_AFTER: "0ms",
        PARLEY_PLAYGROUND: "off",
        ...environment,
      },
    });
    wire.lead(server.url);
    return {
      url: `${wire.url}/mcp`,
      recorder,
      broken: server.broken,
      async close() {
        await server.close();
        await discard();
      },
    };
  } catch (error) {
    await discard();
    throw error;
  }
}
