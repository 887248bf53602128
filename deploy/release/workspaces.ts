/** The published packages and the folders of their sources. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** Sorted so that each package follows its dependencies. */
export const PUBLISHED = [
  "packages/core",
  "packages/sdk",
  "packages/protocol",
  "packages/node",
  "packages/redis",
  "packages/telemetry",
  "packages/files",
  "packages/approvals",
  "packages/webhooks",
  "packages/identity",
  "packages/gateway",
  "apps/gallery",
  "apps/web",
  "apps/server",
  "apps/worker",
  "apps/cli",
  "packages/create-parley",
] as const;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}

export async function readManifest(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(ROOT, directory, "package.json"), "utf8")) as Manifest;
}
