import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Staged } from "./build.ts";

export interface Packed extends Staged {
  readonly name: string;
  readonly tarball: string;
  readonly files: number;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

export async function pack(staged: Staged, out: string): Promise<Packed> {
  const { stdout } = await promisify(execFile)("npm", ["pack", "--json", "--pack-destination", out], { cwd: staged.directory });
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, NpmPack> | NpmPack[]);
  if (!packed) throw new Error(`npm pack did not report a tarball for ${staged.manifest.name}`);
  const { filename, size, unpackedSize, entryCount } = packed;
  return {
    ...staged,
    name: staged.manifest.name,
    tarball: join(out, filename.replace("@", "").replace("/", "-")),
    files: entryCount,
    packedBytes: size,
    unpackedBytes: unpackedSize,
  };
}

interface NpmPack {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly entryCount: number;
}
