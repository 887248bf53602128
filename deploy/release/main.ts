/**
 * Builds, checks, packs and publishes the packages.
 *
 *   npm run release -- --dry-run --out DIR     writes tarballs to DIR and publishes nothing
 *   npm run release                            the same, then runs `npm publish --provenance` for each
 *
 * Inside the repository Node.js runs the TypeScript sources. It does not strip types inside node_modules, so the published packages contain
 * JavaScript with declarations. The folders are those of the sources, so that relative paths to scripts and package.json stay valid.
 */
import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { build } from "./build.ts";
import { check } from "./check.ts";
import { pack, type Packed } from "./pack.ts";
import { ROOT } from "./workspaces.ts";

const { values } = parseArgs({ options: { "dry-run": { type: "boolean", default: false }, out: { type: "string" } } });
const out = resolve(values.out ?? join(ROOT, "out/packages"));

const staged = await build();
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const packed: Packed[] = [];
for (const each of staged) packed.push(await pack(each, out));

const problems = (await Promise.all(packed.map(check))).flat();
for (const { name, files, packedBytes, unpackedBytes } of packed) {
  console.log(`${name.padEnd(20)} ${String(files).padStart(4)} files ${kB(packedBytes)} packed ${kB(unpackedBytes)} unpacked`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} problems; nothing was published`);
  process.exit(1);
}
if (values["dry-run"]) console.log(`${packed.length} packages in ${out}; nothing was published (--dry-run)`);
else for (const { tarball } of packed) await publish(tarball);

/** Packages are published in the order of their dependencies, so that none can be installed before its dependencies exist. */
async function publish(tarball: string): Promise<void> {
  const { stdout } = await promisify(execFile)("npm", ["publish", tarball, "--access", "public", "--provenance"]);
  console.log(stdout.trim());
}

function kB(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`.padStart(10);
}
