import type { Command } from "commander";

export interface NewKey {
  readonly scopes: string;
  readonly tenant: string;
  readonly expires?: string;
  readonly json?: true;
}

export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .description("Manage API keys for machines, on front ends with PARLEY_AUTH_API_KEYS=true; needs REDIS_URL");
  keys
    .command("create <name>")
    .description(
      "Create a key and print it once; keys with the same name and tenant are one caller, so create the new key before you revoke the old one",
    )
    .option("-s, --scopes <list>", "Scopes of the key, separated by commas", "tools,tasks,asks")
    .option("-t, --tenant <tenant>", "Tenant that the key belongs to", "default")
    .option("-e, --expires <duration>", "How long the key is valid, for example 90d (default: until it is revoked)")
    .option("--json", "Print the key and its properties as JSON")
    .action(async (name: string, options: NewKey) => (await import("./run.ts")).createKey(name, options));
  keys
    .command("list")
    .description("List ids, names, tenants, scopes and times, but not the keys")
    .option("--json", "Print one JSON object per line")
    .action(async (options: { json?: true }) => (await import("./run.ts")).listKeys(options));
  keys
    .command("revoke <id>")
    .description("Revoke a key: within 5 seconds no front end accepts it")
    .option("--json", "Print what was revoked as JSON")
    .action(async (id: string, options: { readonly json?: true }) => (await import("./run.ts")).revokeKey(id, options));
}
