import type { Command } from "commander";

export interface WebhooksCommand {
  readonly file?: string;
  readonly json?: true;
}

export interface ReplayCommand extends WebhooksCommand {
  readonly limit: string;
}

const FILE = "File with the webhooks (default: PARLEY_WEBHOOKS)";

export function addWebhooks(program: Command): void {
  const webhooks = program
    .command("webhooks")
    .description("Show the webhooks of the operator's file, try them, and what they did not take");
  webhooks
    .command("list", { isDefault: true })
    .description("List each webhook: where it posts, when it last took something, since when it fails; needs REDIS_URL")
    .option("--file <file>", FILE)
    .option("--json", "Print JSON")
    .action(async (options: WebhooksCommand) => (await import("./run.ts")).listWebhooks(options));
  webhooks
    .command("test <name>")
    .description("Post an event of type `test` to a webhook now, from this machine, and say what the receiver answers")
    .option("--file <file>", FILE)
    .option("--json", "Print JSON")
    .action(async (name: string, options: WebhooksCommand) => (await import("./run.ts")).testWebhook(name, options));
  webhooks
    .command("dead <name>")
    .description("List what a webhook did not take and was given up, the newest first; needs REDIS_URL")
    .option("--json", "Print one JSON object per line")
    .action(async (name: string, options: WebhooksCommand) => (await import("./run.ts")).listDead(name, options));
  webhooks
    .command("replay <name> [ids...]")
    .description("Post again what a webhook did not take and was given up, the oldest first, with the same ids; needs REDIS_URL")
    .option("--file <file>", FILE)
    .option("--limit <n>", "Post at most this many", "100")
    .option("--json", "Print one JSON object per line")
    .action(async (name: string, ids: readonly string[], options: ReplayCommand) =>
      (await import("./run.ts")).replayWebhook(name, ids, options),
    );
}
