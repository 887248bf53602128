/** Finds the files that tools consist of, and whether they load. Runs in a thread, so that nothing the tools start outlives the check. */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { loadCatalogue } from "@parley/sdk";

export interface ToolFiles {
  /** Absolute paths, without files of installed packages, and including imported files that do not exist. */
  readonly files: readonly string[];
  /** Why the tools do not load. */
  readonly problem?: string;
}

const MARK = "parley dev";
const LOAD_MS = 30_000;

export async function filesOf(modules: readonly string[]): Promise<ToolFiles> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { mark: MARK, modules }, stdout: true });
  thread.stdout.pipe(process.stderr, { end: false });
  const files = new Set<string>();
  try {
    const problem = await new Promise<string | undefined>((done) => {
      const timer = setTimeout(() => done(`they are not loaded within ${LOAD_MS / 1_000} s`), LOAD_MS);
      thread.on("message", ({ file, problem: found }: { readonly file?: string; readonly problem?: string }) => {
        if (file !== undefined) return void files.add(file);
        clearTimeout(timer);
        done(found);
      });
      thread.once("error", (error) => done(error.message));
      thread.once("exit", () => done("the code exited the process"));
    });
    return { files: [...files], ...(problem !== undefined && { problem }) };
  } finally {
    await thread.terminate();
  }
}

// ── in the thread ──────────────────────────────────────────────────────────────────────────────────────────────

function inspect(modules: readonly string[]): void {
  const addFile = (url: string) => {
    if (url.startsWith("file:") && !url.includes("/node_modules/")) parentPort?.postMessage({ file: fileURLToPath(url) });
  };
  registerHooks({
    resolve(specifier, context, next) {
      try {
        const resolved = next(specifier, context);
        addFile(resolved.url);
        return resolved;
      } catch (error) {
        // The file may be created next.
        const url = URL.parse(specifier, context.parentURL);
        if (url) addFile(url.href);
        throw error;
      }
    },
  });
  loadCatalogue(modules).then(
    () => parentPort?.postMessage({}),
    (error: unknown) => parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) }),
  );
}

if (!isMainThread && (workerData as { mark?: unknown } | null)?.mark === MARK)
  inspect((workerData as { modules: readonly string[] }).modules);
