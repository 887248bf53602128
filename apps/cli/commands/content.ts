import type { Command } from "commander";
import type { Output } from "../content-keys.ts";

export function addContent(program: Command): void {
  const content = program
    .command("content")
    .description("manages the keys that encrypt what people and tools say; needs REDIS_URL and PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING");
  content
    .command("new-key")
    .description("prints a new key for PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING")
    .option("--json", "print it as JSON")
    .action(async (options: Output) => (await import("../content-keys.ts")).printNewKey(options));
  content
    .command("rotate")
    .description("wraps all data keys with the first key of the ring, so that later keys can be removed; tasks may wait meanwhile")
    .option("--data-keys", "also encrypt all new content with new data keys from now on")
    .option("--json", "print the counts as JSON")
    .action(async ({ dataKeys = false, ...output }: Output & { readonly dataKeys?: boolean }) =>
      (await import("../content-keys.ts")).rotate({ dataKeys, ...output }),
    );
  content
    .command("erase-tenant <tenant>")
    .description("deletes the data keys of a tenant: the content of its tasks so far becomes unreadable for good")
    .requiredOption("--yes", "confirm; only an earlier backup of Redis, together with the key ring, could restore the content")
    .option("--json", "print the counts as JSON")
    .action(async (tenant: string, options: Output) => (await import("../content-keys.ts")).eraseTenant(tenant, options));
}
