/** Builds the pages before any test loads what names them. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

export default async function setup(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, "../../apps/web/build.ts")]);
}
