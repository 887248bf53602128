import type { Command } from "commander";
import type { Output } from "./run.ts";

export function addContent(program: Command): void {
  const content = program
    .command("content")
    .description("Manage the keys that encrypt content; needs REDIS_URL and PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING");
  content
    .command("new-key")
    .description("Print a new key for PARLEY_CONTENT_KEYS or PARLEY_CONTENT_RING")
    .option("--json", "Print as JSON")
    .action(async (options: Output) => (await import("./run.ts")).printNewKey(options));
  content
    .command("rotate")
    .description("Wrap all data keys with the first key of the ring, so that the other keys can be removed; waiting tasks are not affected")
    .option("--data-keys", "Also encrypt all new content with new data keys from now on")
    .option("--json", "Print the counts as JSON")
    .action(async ({ dataKeys = false, ...output }: Output & { readonly dataKeys?: boolean }) =>
      (await import("./run.ts")).rotate({ dataKeys, ...output }),
    );
  content
    .command("erase-tenant <tenant>")
    .description("Delete the data keys of a tenant: the content of its existing tasks becomes permanently unreadable")
    .requiredOption("--yes", "Confirm; only an earlier backup of Redis, together with the key ring, could restore the content")
    .option("--json", "Print the counts as JSON")
    .action(async (tenant: string, options: Output) => (await import("./run.ts")).eraseTenant(tenant, options));
}
