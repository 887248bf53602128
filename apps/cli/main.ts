#!/usr/bin/env node
/** The `parley` command. */
import { enableCompileCache } from "node:module";

// Before any other module loads: with code compiled by an earlier command, loading takes half the time.
enableCompileCache();
const { run } = await import("./program.ts");
await run();
