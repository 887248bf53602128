import type { Command } from "commander";
import type { Output } from "../content-keys.ts";

export function addContent(program: Command): void {
  const content = program
    .command("content")
    .description("keys that seal what people and tools say; needs REDIS_URL and PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING");
  content
    .command("new-key")
    .description("prints a new key for PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING")
    .option("--json", "print it as JSON")
    .action(async (options: Output) => (await import("../content-keys.ts")).printNewKey(options));
  content
    .command("rotate")
    .description("wraps all data keys by the first key of the ring, so that those behind it can be removed; tasks may wait meanwhile")
    .option("--data-keys", "also seal new content of all tenants with new data keys from now on")
    .option("--json", "print the counts as JSON")
    .action(async ({ dataKeys = false, ...output }: Output & { readonly dataKeys?: boolean }) =>
      (await import("../content-keys.ts")).rotate({ dataKeys, ...output }),
    );
  content
    .command("erase-tenant <tenant>")
    .description("deletes a tenant's data keys: nobody can ever read again what was said in its tasks until now")
    .requiredOption("--yes", "really; a backup of Redis from before, with the key ring, is all that could bring it back")
    .option("--json", "print the counts as JSON")
    .action(async (tenant: string, options: Output) => (await import("../content-keys.ts")).eraseTenant(tenant, options));
}
