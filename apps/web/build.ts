/**
 * Builds the pages into dist/ if their sources have changed. `npm install` and `npm start` run it each time.
 *
 * It also writes a compressed copy of each file, so that the front end does not have to compress.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const ROOT = join(import.meta.dirname, "../..");
const DIST = join(import.meta.dirname, "dist");
/** The digest of the sources of dist. It is stored beside dist, since every file in dist is served. */
const STAMP = join(import.meta.dirname, "dist.made-of");
const MADE_OF = [
  "apps/web/{index.html,build.ts,vite.config.ts,package.json}",
  "apps/web/src/**/*",
  "apps/web/{form,times}/*",
  "apps/web/styles/*",
  "packages/core/asks/form.ts",
];

function digestOfSources(): string {
  const hash = createHash("sha256");
  const files = globSync(MADE_OF, { cwd: ROOT }).filter((file) => /\.[a-z]+$/.test(file) && !file.includes(".test."));
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex");
}

/** Returns false if vite is not installed. */
async function build(): Promise<boolean> {
  const vite = await import("vite").catch(() => undefined);
  if (!vite) {
    // An installation without dev dependencies, for example on a server.
    process.stdout.write("the playground is not built: vite is a dev dependency and not installed\n");
    return false;
  }
  const configFile = join(import.meta.dirname, "vite.config.ts");
  // Of builds before, also what this one would not write.
  rmSync(DIST, { recursive: true, force: true });
  await vite.build({ configFile });
  await vite.build({
    configFile,
    build: {
      outDir: "dist/pages",
      rolldownOptions: {
        input: join(import.meta.dirname, "src/pages/main.ts"),
        output: { format: "iife", entryFileNames: "pages-[hash].js" },
      },
    },
  });
  for (const file of globSync("**/*.{html,js,css,svg}", { cwd: DIST })) {
    const content = readFileSync(join(DIST, file));
    writeFileSync(join(DIST, `${file}.br`), brotliCompressSync(content));
    writeFileSync(join(DIST, `${file}.gz`), gzipSync(content, { level: 9 }));
  }
  return true;
}

const digest = digestOfSources();
const isFresh = existsSync(join(DIST, "play/index.html")) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest;
if (!isFresh && (await build())) writeFileSync(STAMP, digest);
