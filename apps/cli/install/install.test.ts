import { execFile } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { parse as parseToml } from "smol-toml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CLIENT_NAMES, CLIENTS, type Place } from "./clients.ts";
import { edited, type Entry } from "./edit.ts";

const entry: Entry = { command: "/bin/node", args: ["/parley/main.ts", "stdio"] };
const json = (text: string, given: Entry | undefined = entry) =>
  edited(text, { format: "json", servers: "mcpServers", name: "parley", entry: given });
const toml = (text: string, given: Entry | undefined = entry) =>
  edited(text, { format: "toml", servers: "mcp_servers", name: "parley", entry: given });

describe("a JSON file", () => {
  test("keeps comments, other entries, order and indentation", () => {
    const before = '{\n\t// mine\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"other": { "command": "x" } // stays\n\t}\n}\n';
    const after = json(before);
    expect(after).toContain("\t// mine\n");
    expect(JSON.parse(after.replaceAll(/\/\/.*/g, ""))).toEqual({ theme: "dark", mcpServers: { other: { command: "x" }, parley: entry } });
    expect(after).toContain("// stays");
    expect(after).toContain('\t\t"parley": {\n\t\t\t"command": "/bin/node"');
    expect(json(after)).toBe(after);
    expect(JSON.parse(json(JSON.stringify({ a: 1 })))).toEqual({ a: 1, mcpServers: { parley: entry } });
  });

  test("keeps a byte order mark", () => {
    const [mark, ...rest] = json('\uFEFF{"a":1}');
    expect([mark, JSON.parse(rest.join(""))]).toEqual(["\uFEFF", { a: 1, mcpServers: { parley: entry } }]);
    expect(toml("\uFEFFa = 1\n")).toMatch(/^\uFEFFa = 1\n\n\[mcp_servers\.parley\]/);
  });

  test("is created if there is none, and an entry is replaced and removed", () => {
    expect(JSON.parse(json(""))).toEqual({ mcpServers: { parley: entry } });
    const other: Entry = { command: "/other", args: [] };
    expect(JSON.parse(json(json(""), other))).toEqual({ mcpServers: { parley: other } });
    expect(JSON.parse(edited(json(""), { format: "json", servers: "mcpServers", name: "parley", entry: undefined }))).toEqual({
      mcpServers: {},
    });
  });

  test.each([
    ["{", "it is not valid JSON: CloseBraceExpected in line 1"],
    ['{\n"a": 1\n"b": 2}', "it is not valid JSON: CommaExpected in line 3"],
    ["[]", "it does not contain a JSON object"],
    ['{"mcpServers": []}', "its mcpServers is not an object"],
  ])("that is %s is left alone", (text, problem) => {
    expect(() => json(text)).toThrow(problem);
  });
});

describe("a TOML file", () => {
  const before = '# mine\nmodel = "gpt"\n\n[mcp_servers.other] # stays\ncommand = "x"\n';

  test("keeps comments and other tables, and the entry can be replaced and removed", () => {
    const after = toml(before);
    expect(after.startsWith(before)).toBe(true);
    expect(parseToml(after)).toMatchObject({ model: "gpt", mcp_servers: { other: { command: "x" }, parley: entry } });
    const withEnv = toml(after, { ...entry, env: { PARLEY_TOKEN_FILE: "/t" } });
    expect(parseToml(withEnv)).toMatchObject({ mcp_servers: { parley: { env: { PARLEY_TOKEN_FILE: "/t" } } } });
    expect(toml(withEnv)).toBe(after);
    expect(edited(after, { format: "toml", servers: "mcp_servers", name: "parley", entry: undefined })).toBe(before);
  });

  test("whose entry is not a table of its own is left unchanged, and so is an invalid file", () => {
    expect(() => toml('mcp_servers = { parley = { command = "x" } }\n')).toThrow();
    expect(() => toml("a = \n")).toThrow("it is not valid TOML");
  });
});

test("every client's file is where its documentation says, on every platform", () => {
  const place = (platform: NodeJS.Platform): Place => ({ platform, home: "/home/ann", env: { APPDATA: "C:/Roaming" } });
  expect(CLIENTS["claude-desktop"].user(place("darwin"))).toBe("/home/ann/Library/Application Support/Claude/claude_desktop_config.json");
  expect(CLIENTS["claude-desktop"].user(place("win32"))).toBe("C:/Roaming/Claude/claude_desktop_config.json");
  expect(CLIENTS.vscode.user(place("linux"))).toBe("/home/ann/.config/Code/User/mcp.json");
  expect(CLIENTS.codex.user(place("linux"))).toBe("/home/ann/.codex/config.toml");
});

describe("the command", () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "parley-install-"));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const MAIN = resolve(import.meta.dirname, "../main.ts");
  const parley = (...args: string[]) =>
    promisify(execFile)(process.execPath, [MAIN, "install", ...args], { cwd: home, env: { HOME: home, PATH: process.env["PATH"] } }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    );

  test("shows the change and writes nothing without --yes; with it, keeps a copy and writes the target of a link", async () => {
    await mkdir(join(home, "dotfiles"));
    const file = join(home, "dotfiles/mcp.json");
    await writeFile(file, '{ "mcpServers": { "other": { "command": "x" } } }\n', { mode: 0o640 });
    await mkdir(join(home, ".cursor"));
    await symlink(file, join(home, ".cursor/mcp.json"));

    const asked = await parley("cursor");
    expect(asked).toMatchObject({ code: 1, stdout: expect.stringContaining("+"), stderr: expect.stringContaining("--yes") });
    expect(await readFile(file, "utf8")).not.toContain("parley");

    const { stdout } = await parley("cursor", "--yes", "--json", "--url", "https://parley.example.com/mcp", "--token-file", "token");
    const outcome = JSON.parse(stdout) as { changed: boolean; backup: string };
    expect(outcome).toMatchObject({ client: "cursor", file, changed: true });
    expect(await readFile(outcome.backup, "utf8")).not.toContain("parley");
    const { mcpServers } = JSON.parse(await readFile(file, "utf8")) as { mcpServers: Record<string, Entry> };
    expect(mcpServers).toEqual({
      other: { command: "x" },
      parley: {
        command: process.execPath,
        args: [MAIN, "stdio", "--url", "https://parley.example.com/mcp"],
        env: { PARLEY_TOKEN_FILE: join(home, "token") },
      },
    });
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(JSON.parse((await parley("cursor", "--remove", "--yes", "--json")).stdout)).toMatchObject({ changed: true });
    // The file and two copies; no draft is left.
    expect(await readdir(join(home, "dotfiles"))).toHaveLength(3);
  });

  test("names a module as the server would load it: by its whole path, or as a package", async () => {
    await mkdir(join(home, "more"));
    for (const name of ["tools.ts", "more/tools.js"]) await writeFile(join(home, name), "");
    const { stdout } = await parley("cursor", "--print", "--tools", "tools.ts, ./more/tools.js ,@acme/tools");
    const { mcpServers } = JSON.parse(stdout) as { mcpServers: { parley: Entry } };
    expect(mcpServers.parley.args.at(-1)).toBe(`${join(home, "tools.ts")},${join(home, "more/tools.js")},@acme/tools`);
  });

  test("starts the tools that the project names, since the client starts its server elsewhere", async () => {
    await writeFile(join(home, "package.json"), '{ "parley": { "tools": "./tools.ts" } }');
    const missing = await parley("cursor", "--print");
    expect(missing.stderr).toBe(`parley: the tools of this project: ./tools.ts: there is no ${join(home, "tools.ts")}\n`);
    await writeFile(join(home, "tools.ts"), "");
    const argsOf = async (...options: string[]) =>
      (JSON.parse((await parley("cursor", "--print", ...options)).stdout) as { mcpServers: { parley: Entry } }).mcpServers.parley.args;
    expect(await argsOf()).toEqual([MAIN, "stdio", "--tools", join(home, "tools.ts")]);
    expect(await argsOf("--tools", "@acme/tools")).toEqual([MAIN, "stdio", "--tools", "@acme/tools"]);
    expect(await argsOf("--url", "https://parley.example.com/mcp")).toEqual([MAIN, "stdio", "--url", "https://parley.example.com/mcp"]);
  });

  test("says how to start the Inspector with the file and the name that were written", async () => {
    const { stdout } = await parley("inspector", "--yes", "--file", "other.json", "--name", "mine");
    expect(stdout).toContain(`--config ${join(home, "other.json")} --server mine\``);
  });

  test("refuses a module that does not exist, and writes nothing", async () => {
    const { code, stderr } = await parley("cursor", "--yes", "--tools", "@acme/tools,./tols.ts");
    expect({ code, stderr }).toEqual({ code: 1, stderr: `parley: --tools ./tols.ts: there is no ${join(home, "tols.ts")}\n` });
    expect(await readdir(home)).toEqual([]);
  });

  test("with --json and without a terminal, reports that nothing was written as any other error", async () => {
    const { code, stdout, stderr } = await parley("cursor", "--json");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(JSON.parse(stderr)).toEqual({ error: { message: expect.stringContaining("Use --yes to write") } });
  });

  test("does not write through a link that was planted in place of its draft", async () => {
    const file = join(home, ".cursor/mcp.json");
    await mkdir(join(home, ".cursor"));
    await writeFile(join(home, "victim"), "untouched");
    // `exec` keeps the process id, so that the link has the name of a draft that is named by it.
    const script = 'ln -s "$HOME/victim" "$1.$$.draft" && exec "$2" "$3" install cursor --yes';
    await promisify(execFile)("sh", ["-c", script, "sh", file, process.execPath, MAIN], {
      cwd: home,
      env: { HOME: home, PATH: process.env["PATH"] },
    });
    expect(await readFile(join(home, "victim"), "utf8")).toBe("untouched");
    expect((await lstat(file)).isFile()).toBe(true);
  });

  test("reports an unknown client, a broken file, and a client without a project file", async () => {
    expect(await parley("emacs")).toMatchObject({ code: 1, stderr: expect.stringContaining(CLIENT_NAMES.join(", ")) });
    await writeFile(join(home, ".claude.json"), "{");
    expect(await parley("claude-code", "-y")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(".claude.json was not changed: it is not valid JSON"),
    });
    expect(await parley("claude-desktop", "--project")).toMatchObject({ code: 1, stderr: expect.stringContaining("omit --project") });
    for (const url of ["nowhere", "127.0.0.1:3000/mcp", "ftp://example.com/"])
      expect(await parley("cursor", "--print", "--url", url)).toMatchObject({
        code: 1,
        stderr: `parley: ${url} is not the URL of an MCP endpoint: it must begin with http:// or https://\n`,
      });
    const secret = await parley("cursor", "--print", "--url", "https://ann:hunter2@example.com/mcp");
    expect(secret).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("PARLEY_TOKEN") });
    expect(secret.stderr).not.toContain("hunter2");
    expect(await parley("cursor", "--print", "--file", home)).toMatchObject({
      code: 1,
      stderr: `parley: ${home} cannot be read (EISDIR: illegal operation on a directory, read): name the client's file with --file\n`,
    });
  });
});
