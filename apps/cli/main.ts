#!/usr/bin/env node
/** The `parley` command. */
import module from "node:module";

// A newer syntax or a missing export would be reported as such, so an old Node loads nothing but this file.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(`parley: needs Node.js 22.22 or newer, and this is ${process.versions.node}\n`);
  process.exit(1);
}
// Before any other module loads: with code compiled by an earlier command, loading takes half the time.
module.enableCompileCache();
const { run } = await import("./program.ts");
await run();
