import type { Command } from "commander";

export function addContent(program: Command): void {
  const content = program
    .command("content")
    .description("keys that seal what people and tools say; needs REDIS_URL and PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING");
  content
    .command("new-key")
    .description("prints a new key for PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING")
    .action(async () => (await import("../content-keys.ts")).printNewKey());
  content
    .command("rotate")
    .description("wraps all data keys by the first key of the ring, so that those behind it can be removed; tasks may wait meanwhile")
    .option("--data-keys", "also seal new content of all tenants with new data keys from now on")
    .action(async ({ dataKeys = false }: { dataKeys?: boolean }) => (await import("../content-keys.ts")).rotate({ dataKeys }));
  content
    .command("erase-tenant <tenant>")
    .description("deletes a tenant's data keys: nobody can ever read again what was said in its tasks until now")
    .requiredOption("--yes", "really; a backup of Redis from before, with the key ring, is all that could bring it back")
    .action(async (tenant: string) => (await import("../content-keys.ts")).eraseTenant(tenant));
}
