/** Run by Stryker inside its copy of the tree, out/mutation/sandbox-…: makes `@parley/core` mean the copy's, with the mutants in it. */
import { cpSync } from "node:fs";

// The links are relative. As they are they lead to ../../packages/… of whichever tree they are in.
cpSync("../../../node_modules/@parley", "node_modules/@parley", { recursive: true, verbatimSymlinks: true });
