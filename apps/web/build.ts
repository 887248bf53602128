/**
 * Builds the pages if their sources have changed, each build into a directory of its own: dist/<digest of the sources>. dist/current names the one that
 * servers serve from then on. `npm install` and `npm start` run it each time, also beside a server or a test that serves an earlier build, and beside
 * each other.
 *
 * It also writes a compressed copy of each file that is served, so that the front end does not have to compress. The view of src/ask is one file, which
 * goes out inside of messages.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const ROOT = join(import.meta.dirname, "../..");
const DIST = join(import.meta.dirname, "dist");
const CURRENT = join(DIST, "current");
/** For how long an earlier build stays for the servers that serve it. With `--only` none stays, as for a release. */
const KEPT_MS = process.argv.includes("--only") ? 0 : 86_400_000;
const MADE_OF = [
  "apps/web/{index.html,build.ts,vite.config.ts,package.json}",
  "apps/web/src/**/*",
  "apps/web/{form,texts,times}/*",
  "apps/web/styles/*",
  "packages/core/asks/{form,own-words}.ts",
  "packages/core/values/cut.ts",
];
const digest = digestOfSources();
const BUILD = join(DIST, digest);
/** A build until it is finished. */
const MADE = join(DIST, `.${process.pid}`);

function digestOfSources(): string {
  const hash = createHash("sha256");
  const files = globSync(MADE_OF, { cwd: ROOT }).filter((file) => /\.[a-z]+$/.test(file) && !file.includes(".test."));
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 16);
}

/**
 * The view for hosts of MCP Apps, as one file that loads nothing. Its own policy allows its script and its style and nothing else, whatever the host
 * allows.
 */
function askView(script: string): string {
  const styleOf = (file: string) => readFileSync(join(import.meta.dirname, file), "utf8");
  // What would end the element.
  const code = script.replaceAll("</script", "<\\/script").trim();
  const style = `${byTheme(styleOf("styles/tokens.css"))}\n${styleOf("src/ask/ask.css")}`;
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Open questions</title>',
    `<style>${style}</style></head><body><main id="view"></main><script type="module">${code}</script></body></html>`,
  ].join("\n");
}

/** The host says which theme it has, whatever the browser prefers. */
function byTheme(tokens: string): string {
  const DARK = /@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}/;
  const [, dark] = DARK.exec(tokens) ?? [];
  if (dark === undefined) throw new Error("styles/tokens.css has no dark theme as build.ts knows it");
  return tokens.replace(DARK, `:root[data-theme="light"] { color-scheme: light; }\n:root[data-theme="dark"] { color-scheme: dark;${dark}}`);
}

/** Returns false if vite is not installed. */
async function make(): Promise<boolean> {
  const vite = await import("vite").catch(() => undefined);
  if (!vite) {
    // An installation without dev dependencies, for example on a server.
    process.stdout.write("the playground is not built: vite is a dev dependency and not installed\n");
    return false;
  }
  const configFile = join(import.meta.dirname, "vite.config.ts");
  await vite.build({ configFile, build: { outDir: join(MADE, "play") } });
  await vite.build({
    configFile,
    build: {
      outDir: join(MADE, "pages"),
      rolldownOptions: {
        input: join(import.meta.dirname, "src/pages/main.ts"),
        output: { format: "iife", entryFileNames: "pages-[hash].js" },
      },
    },
  });
  await vite.build({
    configFile,
    build: {
      outDir: join(MADE, "ask"),
      rolldownOptions: { input: join(import.meta.dirname, "src/ask/main.tsx"), output: { format: "es", entryFileNames: "ask.js" } },
    },
  });
  writeFileSync(join(MADE, "ask/ask.html"), askView(readFileSync(join(MADE, "ask/ask.js"), "utf8")));
  rmSync(join(MADE, "ask/ask.js"));
  for (const file of globSync("{play,pages}/**/*.{html,js,css,svg}", { cwd: MADE })) {
    const content = readFileSync(join(MADE, file));
    writeFileSync(join(MADE, `${file}.br`), brotliCompressSync(content));
    writeFileSync(join(MADE, `${file}.gz`), gzipSync(content, { level: 9 }));
  }
  return true;
}

function finish(): void {
  try {
    renameSync(MADE, BUILD);
  } catch (error) {
    rmSync(MADE, { recursive: true, force: true });
    // Another process that builds the same was faster.
    if (!existsSync(BUILD)) throw error;
  }
}

function serveFromNowOn(): void {
  const before = existsSync(CURRENT) ? readFileSync(CURRENT, "utf8") : undefined;
  if (before !== digest) {
    writeFileSync(MADE, digest);
    renameSync(MADE, CURRENT);
  }
  const nowMs = Date.now();
  for (const name of readdirSync(DIST)) {
    const path = join(DIST, name);
    if (name === digest || path === CURRENT) continue;
    if (name === before && KEPT_MS > 0) utimesSync(path, nowMs / 1_000, nowMs / 1_000);
    else if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) <= nowMs - KEPT_MS)
      rmSync(path, { recursive: true, force: true });
  }
}

if (existsSync(BUILD)) serveFromNowOn();
else if (await make()) {
  finish();
  serveFromNowOn();
}
