#!/usr/bin/env node
/** `parley`: starts, checks and uses a Parley. */
import { enableCompileCache } from "node:module";

// Before anything else is loaded: what was compiled by the command before takes half the time.
enableCompileCache();
const { run } = await import("./program.ts");
await run();
