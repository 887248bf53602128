/** Where MCP clients list their servers, and in which format. docs/clients.md has a source for each. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

export interface ClientFile {
  /** As the client's own documentation calls it. */
  readonly title: string;
  readonly format: "json" | "toml";
  /** The member of the file that lists servers. */
  readonly servers: string;
  /** Whether an entry has `"type": "stdio"`. */
  readonly typed?: boolean;
  /** The file for all of the user's work. */
  readonly user: (place: Place) => string;
  /** The file for one folder, relative to it; undefined if the client has none. */
  readonly project?: string;
  /** What the user has to do before the client sees the change to its file. */
  readonly next: (written: { readonly file: string; readonly name: string }) => string;
}

export interface Place {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const CLIENTS = {
  "claude-desktop": {
    title: "Claude Desktop",
    format: "json",
    servers: "mcpServers",
    user: (place) => join(applicationData(place), "Claude", "claude_desktop_config.json"),
    next: () => "Quit Claude Desktop and start it again.",
  },
  "claude-code": {
    title: "Claude Code",
    format: "json",
    servers: "mcpServers",
    typed: true,
    user: ({ home }) => join(home, ".claude.json"),
    project: ".mcp.json",
    next: () => "Start a new session, and look at /mcp.",
  },
  vscode: {
    title: "VS Code",
    format: "json",
    servers: "servers",
    typed: true,
    user: (place) => join(applicationData(place), "Code", "User", "mcp.json"),
    project: ".vscode/mcp.json",
    next: () => "Run “MCP: List Servers” and start it.",
  },
  cursor: {
    title: "Cursor",
    format: "json",
    servers: "mcpServers",
    user: ({ home }) => join(home, ".cursor", "mcp.json"),
    project: ".cursor/mcp.json",
    next: () => "Look at Settings, Tools & MCP.",
  },
  codex: {
    title: "Codex",
    format: "toml",
    servers: "mcp_servers",
    user: ({ home, env }) => join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
    project: ".codex/config.toml",
    next: () => "Start Codex again, and look at /mcp.",
  },
  gemini: {
    title: "Gemini CLI",
    format: "json",
    servers: "mcpServers",
    user: ({ home }) => join(home, ".gemini", "settings.json"),
    project: ".gemini/settings.json",
    next: () => "Start Gemini CLI again, and look at /mcp.",
  },
  inspector: {
    title: "MCP Inspector",
    format: "json",
    servers: "mcpServers",
    user: () => resolve("mcp.json"),
    project: "mcp.json",
    next: ({ file, name }) => `Run \`npx @modelcontextprotocol/inspector --config ${file} --server ${name}\`.`,
  },
} as const satisfies Readonly<Record<string, ClientFile>>;

export type ClientName = keyof typeof CLIENTS;

export const CLIENT_NAMES = Object.keys(CLIENTS) as readonly ClientName[];

export function isClientName(name: string): name is ClientName {
  return Object.hasOwn(CLIENTS, name);
}

export function thisPlace(): Place {
  return { platform: process.platform, home: homedir(), env: process.env };
}

function applicationData({ platform, home, env }: Place): string {
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return env["APPDATA"] || join(home, "AppData", "Roaming");
  return env["XDG_CONFIG_HOME"] || join(home, ".config");
}
