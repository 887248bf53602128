/** Compiles all packages in one run and stages each of them as it will be published. */
import { execFile } from "node:child_process";
import { cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { promisify } from "node:util";
import { documentsOf } from "./documents.ts";
import { type Manifest, PUBLISHED, readManifest, ROOT } from "./workspaces.ts";

export interface Staged {
  readonly manifest: Manifest;
  readonly directory: string;
}

const STAGE = join(ROOT, "out/release");

/** Files that packages need at run time in addition to compiled sources. */
const ASSETS = new Set([".lua", ".mjs"]);
const COMPILED = ["**/*.js", "**/*.d.ts", "**/*.lua", "**/*.mjs"];

export async function build(): Promise<readonly Staged[]> {
  await rm(STAGE, { recursive: true, force: true });
  await promisify(execFile)(process.execPath, [join(ROOT, "apps/web/build.ts"), "--only"]);
  await promisify(execFile)(join(ROOT, "node_modules/.bin/tsc"), ["-p", join(import.meta.dirname, "tsconfig.json")]).catch(
    (error: Error & { stdout?: string }) => Promise.reject(new Error(`the sources do not compile:\n${error.stdout ?? error.message}`)),
  );
  const root = await readManifest(".");
  return await Promise.all(PUBLISHED.map((source) => stage(source, root)));
}

/** Copies the folders that `files` in the source's manifest names. Everything that is staged is published. */
async function stage(source: string, root: Manifest): Promise<Staged> {
  const directory = join(STAGE, source);
  const { files: extra = [], ...own } = await readManifest(source);
  const documents = documentsOf(source);
  const manifest = published({ ...own, files: [...COMPILED, ...extra, ...(documents.size > 1 ? ["docs"] : [])] }, root);
  await mkdir(directory, { recursive: true });
  for await (const file of glob("**/*.d.ts", { cwd: directory })) await rewriteImports(join(directory, file));
  for await (const file of glob("**/*", { cwd: join(ROOT, source), exclude: (name) => name === "node_modules" })) {
    if (!ASSETS.has(extname(file)) && !extra.some((prefix) => file.startsWith(`${prefix}/`))) continue;
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await cp(join(ROOT, source, file), join(directory, file), { recursive: true });
  }
  await cp(join(ROOT, "LICENSE"), join(directory, "LICENSE"));
  for (const [path, text] of documents) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  await writeFile(join(directory, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return { manifest, directory };
}

/** The compiler leaves `.ts` extensions in the imports of declarations, which other tools do not resolve. */
async function rewriteImports(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replaceAll(/(["'])(\.{1,2}\/[^"']+)\.ts\1/g, "$1$2.js$1"));
}

/** It checks its Node.js itself, in one sentence. npm would print five lines before it. */
const SAYS_ITSELF = "create-parley";

function published(manifest: Manifest, root: Manifest): Manifest {
  const { private: _, devDependencies: __, exports: entries, bin, dependencies, optionalDependencies, ...rest } = manifest;
  if (manifest.version !== root.version)
    throw new Error(`${manifest.name} has version ${manifest.version}, but the repository has ${root.version}`);
  return {
    ...rest,
    license: root["license"],
    ...repository(),
    ...(manifest.name !== SAYS_ITSELF && { engines: root["engines"] }),
    sideEffects: false,
    publishConfig: { access: "public", provenance: true },
    ...(entries && { exports: { ...compiled(entries), "./package.json": "./package.json" } }),
    ...(bin && { bin: Object.fromEntries(Object.entries(bin).map(([name, path]) => [name, toJs(path)])) }),
    ...(dependencies && { dependencies: ranges(dependencies, root) }),
    ...(optionalDependencies && { optionalDependencies: ranges(optionalDependencies, root) }),
  } as unknown as Manifest;
}

/** npm accepts provenance only if the package names the repository that it is published from. */
function repository() {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  return server && name ? { repository: { type: "git", url: `git+${server}/${name}.git` } } : {};
}

function compiled(entries: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(entries).map(([name, path]) => [name, { types: path.replace(/\.ts$/, ".d.ts"), default: toJs(path) }]),
  );
}

/** Parley's packages work together in one version only. Other dependencies may be newer than the tested version, so that they can be shared. */
function ranges(dependencies: Readonly<Record<string, string>>, root: Manifest) {
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, version]) => [name, name.startsWith("@parley/") ? root.version : `^${version}`]),
  );
}

function toJs(path: string): string {
  return path.replace(/\.ts$/, ".js");
}
