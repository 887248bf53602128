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
    .description("manages API keys for machines, on front ends with PARLEY_AUTH_API_KEYS=true; needs REDIS_URL");
  keys
    .command("create <name>")
    .description(
      "creates a key and prints it once; keys with the same name and tenant are one caller, so create the new key before you revoke the old one",
    )
    .option("-s, --scopes <list>", "what the key allows", "tools,tasks,asks")
    .option("-t, --tenant <tenant>", "the tenant that it belongs to", "default")
    .option("-e, --expires <duration>", "how long it is valid, such as 90d (default: until it is revoked)")
    .option("--json", "print it as JSON, including the key")
    .action(async (name: string, options: NewKey) => (await import("../api-keys.ts")).createKey(name, options));
  keys
    .command("list")
    .description("prints ids, names, tenants, scopes and times, but no keys")
    .option("--json", "one JSON object per line")
    .action(async (options: { json?: true }) => (await import("../api-keys.ts")).listKeys(options));
  keys
    .command("revoke <id>")
    .description("revokes a key: within 5 seconds no front end accepts it")
    .option("--json", "print what was revoked as JSON")
    .action(async (id: string, options: { readonly json?: true }) => (await import("../api-keys.ts")).revokeKey(id, options));
}
