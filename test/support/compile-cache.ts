/**
 * Where Node.js keeps compiled code for the processes of tests, which then start with about two thirds of the CPU time. It is the directory
 * that `parley` uses by itself. Importing this file sets it for everything that inherits the environment of this process.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";

export const COMPILE_CACHE = (process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache"));
