/** `parley install`: shows the change to a client's file, asks, backs the file up, and writes it. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { constants, copyFile, mkdir, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { confirm, isCancel } from "@clack/prompts";
import { isModulePath } from "@parley/sdk";
import { createTwoFilesPatch } from "diff";
import { INTERRUPTED } from "../terminal/interrupt.ts";
import { CLIENT_NAMES, type ClientFile, CLIENTS, isClientName, thisPlace } from "./clients.ts";
import { edited, type Entry } from "./edit.ts";
import { clean, print, printJson } from "../terminal/terminal.ts";
import { projectTools } from "../project.ts";
import { checkEndpoint } from "../url.ts";
import { listed } from "../terminal/listed.ts";

export interface InstallOptions {
  readonly url?: string;
  readonly tools?: string;
  readonly dataDir?: string;
  readonly tokenFile?: string;
  readonly name: string;
  readonly project?: boolean;
  readonly file?: string;
  readonly remove?: boolean;
  readonly print?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Shape of `--json`. */
interface Installed {
  readonly client: string;
  readonly file: string;
  readonly changed: boolean;
  /** A copy of the previous file. */
  readonly backup?: string;
}

const FILE_BYTES_MAX = 16 * 1_048_576;

export async function install(clientName: string, options: InstallOptions): Promise<void> {
  if (!isClientName(clientName)) throw new Error(`${clientName} is not a known client; known clients: ${CLIENT_NAMES.join(", ")}`);
  if (!/^[\w-]{1,64}$/.test(options.name)) throw new Error("--name takes letters, digits, - and _, 64 at most");
  const client: ClientFile = CLIENTS[clientName];
  const file = await fileOf(client, options);
  const entry = options.remove ? undefined : entryFor(client, options);
  const before = await textOf(file);
  let after: string;
  try {
    after = edited(before ?? "", { format: client.format, servers: client.servers, name: options.name, entry });
  } catch (error) {
    throw new Error(`${file} was not changed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  if (options.print) return void process.stdout.write(after);
  const changed = after !== (before ?? "");
  const tell = (installed: Installed, text: string): void => {
    if (options.json) printJson(installed);
    else process.stdout.write(text);
  };
  if (!changed) return tell({ client: clientName, file, changed }, `${file} is already up to date.\n`);

  if (!options.json) print(clean(createTwoFilesPatch(file, file, before ?? "", after, before === undefined ? "new" : "now", "then")));
  const consent = options.yes ? "yes" : await agreed(file);
  if (consent !== "yes") {
    process.exitCode = consent;
    return;
  }
  // Some clients write their file often, and a person may have thought about the change for a while.
  if ((await textOf(file)) !== before) throw new Error(`${file} was not written: it has changed meanwhile. Run the command again`);
  const backup = await write(file, before, after);
  const kept = backup === undefined ? "" : `The previous file is saved as ${backup}.\n`;
  tell(
    { client: clientName, file, changed, ...(backup !== undefined && { backup }) },
    `Written. ${kept}${options.remove ? "" : `${client.next({ file, name: options.name })}\n`}`,
  );
}

/** Returns an exit code if the person does not agree. Throws an Error if there is no terminal to ask on. */
async function agreed(file: string): Promise<"yes" | number> {
  if (!process.stdin.isTTY)
    throw new Error("nothing was written: there is no terminal to ask on. Use --yes to write, or --print to see the file.");
  const answer = await confirm({ message: `Write ${file}?`, initialValue: true, output: process.stderr });
  if (answer === true) return "yes";
  process.stderr.write("Nothing was written.\n");
  return isCancel(answer) ? INTERRUPTED : 1;
}

async function fileOf(client: ClientFile, { project, file }: InstallOptions): Promise<string> {
  if (file !== undefined) return await followed(resolve(file));
  if (!project) return await followed(client.user(thisPlace()));
  if (client.project === undefined) throw new Error(`${client.title} has no file for a single folder: omit --project`);
  return await followed(resolve(client.project));
}

/** Follows links: the target is written, and the link stays. */
async function followed(file: string): Promise<string> {
  return await realpath(file).catch(() => file);
}

/** Paths are absolute, because desktop programs are not started from a shell and have another PATH. No token is ever written. */
function entryFor({ typed }: ClientFile, { url, tools: given, dataDir, tokenFile }: InstallOptions): Entry {
  // The client starts its server elsewhere, where no project says what its tools are.
  const tools = given ?? (url === undefined ? projectTools(process.cwd()) : undefined);
  if (url !== undefined) checkEndpoint(url);
  const main = resolve(process.argv[1] ?? "");
  const absolute = (module: string) => {
    if (!isModulePath(module)) return module;
    const path = resolve(module);
    // The client would only show that its server does not start.
    if (!existsSync(path))
      throw new Error(`${given === undefined ? "the tools of this project: " : "--tools "}${module}: there is no ${path}`);
    return path;
  };
  return {
    ...(typed && { type: "stdio" as const }),
    command: process.execPath,
    args: [
      main,
      "stdio",
      ...(url === undefined ? [] : ["--url", new URL(url).href]),
      ...(tools === undefined
        ? []
        : [
            "--tools",
            listed(tools)
              .map((module) => absolute(module))
              .join(","),
          ]),
      ...(dataDir === undefined ? [] : ["--data-dir", resolve(dataDir)]),
    ],
    ...(tokenFile !== undefined && { env: { PARLEY_TOKEN_FILE: resolve(tokenFile) } }),
  };
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    if ((await stat(file)).size > FILE_BYTES_MAX)
      throw new Error(`${file} is larger than ${FILE_BYTES_MAX} bytes: it is not a configuration file`);
    return await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === undefined) throw error;
    throw new Error(`${file} cannot be read (${(error as Error).message}): name the client's file with --file`, { cause: error });
  }
}

/**
 * Writes a draft beside the file and moves it into place, so that a client never reads half of it. The draft is a new file with a name that cannot
 * be guessed: in a directory that others can write to, a link planted in its place is not followed.
 */
async function write(file: string, before: string | undefined, after: string): Promise<string | undefined> {
  await mkdir(dirname(file), { recursive: true });
  const mode = before === undefined ? 0o600 : (await stat(file)).mode & 0o777;
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const backup = before === undefined ? undefined : `${file}.${stamp}.backup`;
  if (backup !== undefined) await copyFile(file, backup, constants.COPYFILE_EXCL);
  const draft = `${file}.${randomUUID()}.draft`;
  await writeFile(draft, after, { mode, flag: "wx" });
  await rename(draft, file);
  return backup;
}
