import type { Command } from "commander";

export interface NewKey {
  readonly scopes: string;
  readonly tenant: string;
  readonly expires?: string;
  readonly json?: true;
}

export function addKeys(program: Command): void {
  const keys = program.command("keys").description("API keys of machines, for front ends with PARLEY_AUTH_API_KEYS=true; needs REDIS_URL");
  keys
    .command("create <name>")
    .description("prints a new key, once; keys of one name and tenant are one caller, so make the new one before you revoke the old one")
    .option("-s, --scopes <list>", "what it may do", "tools,tasks,asks")
    .option("-t, --tenant <tenant>", "whom it belongs to", "default")
    .option("-e, --expires <duration>", "how long it works: 90d (default: until it is revoked)")
    .option("--json", "print it as JSON, with its key")
    .action(async (name: string, options: NewKey) => (await import("../api-keys.ts")).createKey(name, options));
  keys
    .command("list")
    .description("prints ids, names, tenants, scopes and times, never a key")
    .option("--json", "one JSON object a line")
    .action(async (options: { json?: true }) => (await import("../api-keys.ts")).listKeys(options));
  keys
    .command("revoke <id>")
    .description("ends a key: no front end takes it 5 seconds later")
    .option("--json", "print what was revoked as JSON")
    .action(async (id: string, options: { readonly json?: true }) => (await import("../api-keys.ts")).revokeKey(id, options));
}
