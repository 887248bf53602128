#!/usr/bin/env node
/**
 * `npm create parley [directory]`: a project with one tool that asks, its test, and what is needed to run it.
 *
 * Nothing is installed and nothing is overwritten: a directory that holds something already is refused.
 */
import { resolve } from "node:path";

// The project would not run either, and an old Node does not know all that the next file uses.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(`create-parley: needs Node.js 22.22 or newer, and this is ${process.versions.node}\n`);
  process.exit(1);
}
const { createProject } = await import("./create-project.ts");

const USAGE = `Usage: npm create parley [directory] [-- --js]

Creates a project with a tool that asks a person, its test, a Dockerfile and a client configuration.

  directory   where to create it (default: parley-tools); must be absent, or empty except for .git
  --js        JavaScript instead of TypeScript
`;

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith("-"));
const unknown = flags.find((flag) => !["--js", "--help", "-h"].includes(flag));
const directories = args.filter((arg) => !arg.startsWith("-"));

if (flags.includes("--help") || flags.includes("-h")) {
  process.stdout.write(USAGE);
} else if (unknown !== undefined || directories.length > 1) {
  const problem = unknown === undefined ? `expected one directory, found ${directories.join(", ")}` : `unknown option ${unknown}`;
  process.stderr.write(`create-parley: ${problem}\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  const directory = directories[0] ?? "parley-tools";
  try {
    const { name } = await createProject(directory, { language: flags.includes("--js") ? "js" : "ts" });
    const shown = /\s/.test(directory) ? `"${directory}"` : directory;
    const isHere = resolve(directory) === process.cwd();
    const created = isHere ? `Created ${name} here. Next:\n\n` : `Created ${name} in ${directory}. Next:\n\n  cd ${shown}\n`;
    process.stdout.write(`${created}  npm install\n  npm test\n  npm run dev      # http://127.0.0.1:3000/mcp\n`);
  } catch (error) {
    process.stderr.write(`create-parley: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
