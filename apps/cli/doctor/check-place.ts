/**
 * Whether the settings fit the place where processes run. A pod that names its own loopback interface reaches only itself, and a folder
 * without a volume belongs to one container and is lost with it.
 */
import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isLoopback } from "@parley/identity";
import type { Finding } from "./run.ts";

/** Settings with addresses that processes, people or identity providers have to reach. */
const ADDRESSES = ["REDIS_URL", "PARLEY_PUBLIC_URL", "PARLEY_AUTH_ISSUERS", "PARLEY_FILES_ENDPOINT"] as const;
const ABOUT = "place";
const CURE = "Use a name that everyone who needs it can reach.";

export interface Disk {
  /** Of the file system that a path is on. Throws if there is no such path. */
  deviceOf(path: string): Promise<number>;
  isWritable(path: string): Promise<boolean>;
}

const realDisk: Disk = {
  deviceOf: async (path) => (await stat(path)).dev,
  isWritable: (path) =>
    access(path, constants.W_OK).then(
      () => true,
      () => false,
    ),
};

export async function placeFindings(environment: NodeJS.ProcessEnv, disk: Disk = realDisk): Promise<Finding[]> {
  return [...loopbackFindings(environment), ...(await folderFindings(environment, disk))];
}

/** Kubernetes sets this in every container. */
function isPod(environment: NodeJS.ProcessEnv): boolean {
  return Boolean(environment["KUBERNETES_SERVICE_HOST"]);
}

function loopbackFindings(environment: NodeJS.ProcessEnv): Finding[] {
  const listensAt = environment["PARLEY_HOST"] || "127.0.0.1";
  if (isPod(environment)) {
    const own = ADDRESSES.flatMap((name) =>
      hostsIn(environment[name])
        .filter(isLoopback)
        .map((host) => ({ name, host })),
    );
    const findings = own.map(({ name, host }): Finding => problem(`${name} has the host ${host}, where a pod reaches only itself`, CURE));
    if (!isLoopback(listensAt)) return findings;
    return [...findings, problem(`PARLEY_HOST is ${listensAt}, where nothing outside of the pod reaches it`, "Set PARLEY_HOST=0.0.0.0.")];
  }
  const [host] = hostsIn(environment["PARLEY_PUBLIC_URL"]).filter(isLoopback);
  if (host === undefined || isLoopback(listensAt)) return [];
  const says = `PARLEY_PUBLIC_URL has the host ${host}: links to questions and logins work on this machine only`;
  return [{ level: "advice", about: ABOUT, says, cure: CURE }];
}

/** The hosts of a list of addresses; redis:// addresses may name several hosts. */
function hostsIn(addresses = ""): string[] {
  return addresses.split(/[\s,]+/).flatMap((address) => {
    const [, host] = /^(?:[a-z-]+:\/\/)?(?:[^/]*@)?(\[[^\]]*\]|[^:/?#]+)/i.exec(address) ?? [];
    return host ?? [];
  });
}

async function folderFindings(environment: NodeJS.ProcessEnv, disk: Disk): Promise<Finding[]> {
  const { PARLEY_FILES: files = "" } = environment;
  if (!files.startsWith("dir:/")) return [];
  const folder = files.slice("dir:".length);
  const { path, device } = await nearest(folder, disk);
  if (!(await disk.isWritable(path))) {
    const says =
      path === folder
        ? `PARLEY_FILES: ${folder} cannot be written`
        : `PARLEY_FILES: ${folder} does not exist, and cannot be made in ${path}`;
    return [problem(says, "Give the user of the processes the right to write there, or mount a volume.")];
  }
  const isShared = device !== (await disk.deviceOf("/"));
  if (isShared || !(isPod(environment) || environment["NODE_ENV"] === "production")) return [];
  const says = `PARLEY_FILES: no volume is mounted at ${folder}`;
  if (isPod(environment))
    return [
      problem(
        `${says}: each pod would have files of its own, and lose them`,
        "Mount a volume that front ends and workers share, or use s3://.",
      ),
    ];
  return [
    {
      level: "advice",
      about: ABOUT,
      says,
      cure: "In a container, or if there are several machines, mount a volume that all processes share.",
    },
  ];
}

/** The folder itself, or the nearest one above it that exists. */
async function nearest(path: string, disk: Disk): Promise<{ readonly path: string; readonly device: number }> {
  try {
    return { path, device: await disk.deviceOf(path) };
  } catch (error) {
    const above = dirname(path);
    if (above === path) throw error;
    return await nearest(above, disk);
  }
}

function problem(says: string, cure: string): Finding {
  return { level: "problem", about: ABOUT, says, cure };
}
