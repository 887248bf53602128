/** Run by Stryker in its copy of the tree, out/mutation/sandbox-…: makes `@parley/core` refer to the copy, which has the mutants. */
import { cpSync } from "node:fs";

// The links are relative. As they are they lead to ../../packages/… of whichever tree they are in.
cpSync("../../../node_modules/@parley", "node_modules/@parley", { recursive: true, verbatimSymlinks: true });
