/** Checks that a user who installs the package can import it, with types. */
import { readFile } from "node:fs/promises";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import type { Packed } from "./pack.ts";

/** Problems that any package of ES modules only has: old versions of Node.js cannot `require` it. */
const EXPECTED = new Set(["CJSResolvesToESM"]);

/** A package larger than this, without the guides, probably contains a file that should not be published. */
const PACKED_BYTES_MAX = 350_000;
const GUIDES_BYTES_MAX = 300_000;

/** Returns the problems, one line each. */
export async function check({ name, tarball, manifest, packedBytes }: Packed): Promise<readonly string[]> {
  const data = await readFile(tarball);
  const { messages } = await publint({
    pack: { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) },
    strict: true,
  });
  const found = messages.map((message) => `${name}: publint: ${formatMessage(message, manifest)}`);
  const bytesMax = PACKED_BYTES_MAX + (manifest.files?.includes("docs") ? GUIDES_BYTES_MAX : 0);
  if (packedBytes > bytesMax) found.push(`${name}: ${packedBytes} bytes packed; the limit is ${bytesMax}`);
  if (!manifest.exports) return found;
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(data)), { excludeEntrypoints: ["./package.json"] });
  if (!analysis.types) return [...found, `${name}: has no types`];
  const problems = analysis.problems.filter(
    (problem) => !EXPECTED.has(problem.kind) && !("resolutionKind" in problem && problem.resolutionKind === "node10"),
  );
  return [...found, ...problems.map((problem) => `${name}: types: ${JSON.stringify(problem)}`)];
}
