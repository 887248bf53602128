/** Servers of others, as people use them: how each is started, and some calls that can be compared. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface Call {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Server {
  readonly name: string;
  /** With its version, from npm or PyPI. */
  readonly npm?: string;
  readonly pypi?: string;
  /** Relative to where it was installed. */
  readonly bin: string;
  /** `directory` is its own, and there is another one for each way in which it is started. */
  readonly args?: (directory: string) => readonly string[];
  readonly env?: (directory: string) => Readonly<Record<string, string>>;
  /** Settings of the gateway besides. */
  readonly settings?: object;
  /** In order; each is answered before the next. */
  readonly calls?: (directory: string) => readonly Call[];
  /** Whether a program that it needs is missing. */
  readonly needs?: string;
  /** Makes in `directory` what it works on. */
  readonly prepare?: (directory: string) => Promise<void>;
}

const run = promisify(execFile);
const CHROMIUM = "/usr/bin/chromium";

export const SERVERS: readonly Server[] = [
  {
    name: "everything",
    npm: "@modelcontextprotocol/server-everything@2026.8.31",
    bin: "mcp-server-everything",
    args: () => ["stdio"],
    calls: () => [
      { tool: "echo", arguments: { message: "line\u2028separator, \u0000 and 😀" } },
      { tool: "get-sum", arguments: { a: 0.1, b: 0.2 } },
      { tool: "get-sum", arguments: { a: "one" } },
      { tool: "get-tiny-image", arguments: {} },
      { tool: "get-structured-content", arguments: { location: "New York" } },
      { tool: "get-annotated-message", arguments: { messageType: "error", includeImage: true } },
    ],
  },
  {
    name: "filesystem",
    npm: "@modelcontextprotocol/server-filesystem@2026.8.31",
    bin: "mcp-server-filesystem",
    args: (directory) => [directory],
    prepare: async (directory) => {
      await writeFile(join(directory, "a.txt"), "one\r\ntwo\n\nthree ü 😀\n");
      await writeFile(join(directory, "picture.png"), Buffer.from("iVBORw0KGgo=", "base64"));
    },
    calls: (directory) => [
      { tool: "list_directory", arguments: { path: directory } },
      { tool: "read_text_file", arguments: { path: join(directory, "a.txt") } },
      { tool: "read_media_file", arguments: { path: join(directory, "picture.png") } },
      { tool: "write_file", arguments: { path: join(directory, "b.txt"), content: "two lines\nof text\n" } },
      { tool: "edit_file", arguments: { path: join(directory, "b.txt"), edits: [{ oldText: "two", newText: "2" }], dryRun: true } },
      { tool: "read_multiple_files", arguments: { paths: [join(directory, "b.txt"), join(directory, "none.txt")] } },
      { tool: "directory_tree", arguments: { path: directory } },
      { tool: "read_text_file", arguments: { path: "/etc/passwd" } },
      { tool: "list_allowed_directories", arguments: {} },
    ],
  },
  {
    name: "memory",
    npm: "@modelcontextprotocol/server-memory@2026.8.31",
    bin: "mcp-server-memory",
    env: (directory) => ({ MEMORY_FILE_PATH: join(directory, "memory.jsonl") }),
    calls: () => [
      { tool: "create_entities", arguments: { entities: [{ name: "Ada", entityType: "person", observations: ["writes notes"] }] } },
      { tool: "add_observations", arguments: { observations: [{ entityName: "Ada", contents: ["über 😀"] }] } },
      { tool: "create_relations", arguments: { relations: [{ from: "Ada", to: "Ada", relationType: "is" }] } },
      { tool: "search_nodes", arguments: { query: "notes" } },
      { tool: "read_graph", arguments: {} },
      { tool: "add_observations", arguments: { observations: [{ entityName: "Nobody", contents: ["x"] }] } },
    ],
  },
  {
    name: "sequential-thinking",
    npm: "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    bin: "mcp-server-sequential-thinking",
    settings: { reuseSessions: true },
    calls: () =>
      [1, 2, 3].map((thoughtNumber) => ({
        tool: "sequentialthinking",
        arguments: { thought: `thought ${thoughtNumber}`, thoughtNumber, totalThoughts: 3, nextThoughtNeeded: thoughtNumber < 3 },
      })),
  },
  {
    name: "playwright",
    npm: "@playwright/mcp@0.0.83",
    bin: "playwright-mcp",
    needs: CHROMIUM,
    settings: { reuseSessions: true },
    args: (directory) => ["--headless", "--isolated", "--no-sandbox", "--executable-path", CHROMIUM, "--output-dir", directory],
    calls: () => [
      { tool: "browser_navigate", arguments: { url: "data:text/html,<title>A page</title><button>Press</button>" } },
      { tool: "browser_snapshot", arguments: {} },
      { tool: "browser_evaluate", arguments: { function: "() => document.title" } },
      { tool: "browser_close", arguments: {} },
    ],
  },
  { name: "context7", npm: "@upstash/context7-mcp@4.1.1", bin: "context7-mcp" },
  { name: "notion", npm: "@notionhq/notion-mcp-server@2.5.2", bin: "notion-mcp-server", env: () => ({ NOTION_TOKEN: "ntn_none" }) },
  {
    name: "kubernetes",
    npm: "mcp-server-kubernetes@4.1.7",
    bin: "mcp-server-kubernetes",
    env: (directory) => ({ KUBECONFIG: join(directory, "config") }),
    prepare: async (directory) =>
      await writeFile(
        join(directory, "config"),
        JSON.stringify({
          apiVersion: "v1",
          kind: "Config",
          "current-context": "none",
          clusters: [{ name: "none", cluster: { server: "http://127.0.0.1:1" } }],
          contexts: [{ name: "none", context: { cluster: "none", user: "none" } }],
          users: [{ name: "none", user: {} }],
        }),
      ),
    calls: () => [{ tool: "ping", arguments: {} }],
  },
  {
    name: "gitlab",
    npm: "@zereight/mcp-gitlab@2.1.64",
    bin: "mcp-gitlab",
    env: () => ({ GITLAB_PERSONAL_ACCESS_TOKEN: "none", GITLAB_API_URL: "http://127.0.0.1:1/api/v4" }),
  },
  { name: "pdf", npm: "@modelcontextprotocol/server-pdf@2.0.4", bin: "mcp-pdf-server", args: () => ["--stdio"] },
  { name: "react", npm: "@modelcontextprotocol/server-basic-react@2.0.3", bin: "mcp-server-basic-react", args: () => ["--stdio"] },
  {
    name: "time",
    pypi: "mcp-server-time==2026.10.19",
    bin: "mcp-server-time",
    args: () => ["--local-timezone", "Europe/Berlin"],
    calls: () => [
      { tool: "convert_time", arguments: { source_timezone: "Europe/Berlin", time: "14:30", target_timezone: "Asia/Tokyo" } },
      { tool: "convert_time", arguments: { source_timezone: "Nowhere", time: "14:30", target_timezone: "Asia/Tokyo" } },
    ],
  },
  {
    name: "git",
    pypi: "mcp-server-git==2026.10.19",
    bin: "mcp-server-git",
    needs: "/usr/bin/git",
    args: (directory) => ["--repository", directory],
    prepare: async (directory) => {
      await run("git", ["init", "--quiet", "--initial-branch=main", directory]);
      await writeFile(join(directory, "note.txt"), "a note\n");
    },
    calls: (directory) => [
      { tool: "git_status", arguments: { repo_path: directory } },
      { tool: "git_add", arguments: { repo_path: directory, files: ["note.txt"] } },
      { tool: "git_diff_staged", arguments: { repo_path: directory } },
      { tool: "git_status", arguments: { repo_path: "/" } },
    ],
  },
];

/** For all of them together, which are installed at once: a machine without a network must not wait for each. */
const INSTALL_MS = 150_000;

const OWN = join(import.meta.dirname, "../../node_modules");

/** Whether the tree has that version, for other tests. */
async function isInTree(npm: string): Promise<boolean> {
  const at = npm.lastIndexOf("@");
  const text = await readFile(join(OWN, npm.slice(0, at), "package.json"), "utf8").catch(() => "{}");
  return (JSON.parse(text) as { version?: string }).version === npm.slice(at + 1);
}

/** Installs a server outside of the tree, once for each version. Resolves to the path of its program. */
export async function install({ npm, pypi, bin }: Server): Promise<string> {
  if (npm && (await isInTree(npm))) return join(OWN, ".bin", bin);
  const spec = npm ?? pypi ?? "";
  const place = join(tmpdir(), "parley-servers", spec.replaceAll(/[^\w.@=-]/g, "_"));
  if (!(await stat(place).catch(() => undefined))) {
    await mkdir(join(tmpdir(), "parley-servers"), { recursive: true });
    const draft = await mkdtemp(join(tmpdir(), "parley-servers", "draft-"));
    try {
      if (npm)
        await run("npm", ["install", "--prefix", draft, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", spec], {
          timeout: INSTALL_MS,
        });
      else {
        // A virtual environment holds its own path.
        await run("python3", ["-m", "venv", place], { timeout: INSTALL_MS });
        await run(
          join(place, "bin/python"),
          ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1", "--timeout=10", spec],
          {
            timeout: INSTALL_MS,
          },
        );
      }
      if (npm) await rename(draft, place);
    } catch (error) {
      await rm(place, { recursive: true, force: true });
      throw error;
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  return join(place, npm ? "node_modules/.bin" : "bin", bin);
}
