/** The child process that serve.ts starts. */
import { enableCompileCache } from "node:module";
import type { Said } from "./serve.ts";

enableCompileCache();
const { serveEverything } = await import("../serve/serve-all.ts");

/** Sends a message to `parley dev`, unless it has ended. */
function say(said: Said): void {
  if (process.connected) process.send?.(said, () => undefined);
}

let gone = !process.connected;
process.once("disconnect", () => void (gone = true));
try {
  const { url, playground, inbox, broken, close } = await serveEverything({ dataDir: "" });
  const end = async (code: number) => {
    await close().catch(() => undefined);
    process.exit(code);
  };
  if (gone) await end(0);
  process.once("disconnect", () => void end(0));
  void broken.then(() => end(1));
  say({ type: "serving", url, inbox, ...(playground !== undefined && { playground }) });
} catch (error) {
  say({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
  if (process.connected) process.disconnect();
}
