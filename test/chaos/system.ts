/**
 * The system under test: everything that production has, on one machine, with each part under the driver's control.
 *
 *   people ──▶ proxy, round robin ──▶ front ends ──▶ tcp proxy ─┐
 *                                                               ├──▶ Redis
 *                                     workers ─────▶ tcp proxy ─┘
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startProxy as startTcpProxy, type TcpProxy } from "../contract/proxy.ts";
import { type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { startProxy } from "../support/proxy.ts";
import { freePorts } from "../support/free-ports.ts";
import type { Guard } from "./guard.ts";
import { type Member, startMember } from "./member.ts";
import type { Topology } from "../topologies/topology.ts";

export interface System {
  /** The MCP endpoint behind the proxy. */
  readonly url: string;
  readonly prefix: string;
  readonly partitions: number;
  readonly frontEnds: readonly Member[];
  readonly workers: readonly Member[];
  readonly topology: Topology;
  /** Between the members and Redis; absent where clients find the servers by themselves. */
  readonly wires: { readonly frontEnds: TcpProxy; readonly workers: TcpProxy } | undefined;
  /** Absent where callers are anonymous and content is legible. */
  readonly guard: Guard | undefined;
  /** Where the tools leave their evidence. */
  readonly evidence: string;
  close(): Promise<void>;
}

export interface SystemOptions {
  readonly topology: Topology;
  /** Gone with the run. */
  readonly directory: string;
  readonly frontEnds: number;
  readonly workers: number;
  readonly guard?: Guard | undefined;
  /** In place of the tool of lifecycles. */
  readonly tools?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Of all keys of a run. */
export const PREFIX = "chaos";
const TOOLS = join(import.meta.dirname, "tools/chaos.ts");
const CLOCK = pathToFileURL(join(import.meta.dirname, "skewed-clock.mjs")).href;

export async function startSystem({
  topology,
  directory,
  frontEnds,
  workers,
  guard,
  tools = TOOLS,
  env: more,
}: SystemOptions): Promise<System> {
  const wires =
    topology.port === undefined
      ? undefined
      : { frontEnds: await startTcpProxy(topology.port), workers: await startTcpProxy(topology.port) };
  const through = (wire: TcpProxy | undefined): string => {
    if (!wire) return topology.url;
    return topology.url.replace(`:${topology.port}`, `:${wire.port}`);
  };
  const env = {
    PARLEY_PREFIX: PREFIX,
    PARLEY_TOOLS: tools,
    PARLEY_PARTITIONS: String(topology.partitions),
    // Short, so that what they bound happens often within a run: commands that give up during an outage, leases that end during a stop.
    PARLEY_REDIS_TIMEOUT: "1500ms",
    PARLEY_LEASE: "4s",
    PARLEY_RENEW_EVERY: "1s",
    // Here each worker dies or is cut off every six seconds, and a step takes up to half of that: five times in a row is bad luck, not poison.
    PARLEY_TAKEOVERS_MAX: "1000",
    ...topology.env,
    ...guard?.env,
    ...more,
  };
  // Front ends keep their ports through all their lives.
  const ports = await freePorts(frontEnds);
  const members: Member[] = [];
  const start = async (kind: Member["kind"], index: number, launch: (env: Readonly<Record<string, string>>) => Promise<Launched>) => {
    const clockFile = join(directory, `clock-${kind}-${index}`);
    // Front ends keep a true clock: what they date is what clients are told.
    const clock = kind === "worker" ? { NODE_OPTIONS: `--import=${CLOCK}`, CHAOS_CLOCK: clockFile } : {};
    const member = await startMember({ kind, index, clockFile }, () => launch({ ...env, ...clock }));
    members.push(member);
    return member;
  };
  const kill = async () => void (await Promise.all(members.map((member) => member.kill())));
  const closeWires = () => {
    wires?.frontEnds.close();
    wires?.workers.close();
  };
  try {
    const [fronts, backs] = await Promise.all([
      Promise.all(
        ports.map((port, index) =>
          start("front-end", index, (each) => startFrontEnd({ ...each, REDIS_URL: through(wires?.frontEnds), PARLEY_PORT: String(port) })),
        ),
      ),
      Promise.all(
        Array.from({ length: workers }, (_, index) =>
          start("worker", index, (each) => startWorkerProcess({ ...each, REDIS_URL: through(wires?.workers) })),
        ),
      ),
    ]);
    const proxy = await startProxy(
      ports.map((port) => `http://127.0.0.1:${port}`),
      // One that is stopped looks sound to a health check for a while, and is asked on.
      { serves: (index) => fronts[index]?.state() !== "down" },
    );
    return {
      url: `${proxy.url}/mcp`,
      prefix: PREFIX,
      partitions: topology.partitions,
      frontEnds: fronts,
      workers: backs,
      topology,
      wires,
      guard,
      evidence: join(directory, "evidence.jsonl"),
      async close() {
        await proxy.close();
        await kill();
        closeWires();
      },
    };
  } catch (error) {
    await kill();
    closeWires();
    throw error;
  }
}
