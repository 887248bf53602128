import type { Command } from "commander";

export interface Grants {
  readonly principal?: string;
  readonly tenant?: string;
  readonly id?: string;
  readonly json?: true;
}

export function addGrants(program: Command): void {
  const grants = program
    .command("grants")
    .description("Show and revoke access that people granted for later calls to upstreams (`oauth.keep`); needs REDIS_URL");
  grants
    .command("list")
    .description("List who granted which upstream what, when it was last used and when it ends, without tokens")
    .option("-p, --principal <principal>", "Only grants of this caller")
    .option("-t, --tenant <tenant>", "Only grants of this tenant")
    .option("--json", "Print one JSON object per line")
    .action(async (options: Grants) => (await import("./run.ts")).listGrants(options));
  grants
    .command("revoke [id]")
    .description(
      "Remove grants: later calls ask the person again, and running calls do when they next need a token. With PARLEY_SECRET and PARLEY_OAUTH, providers are asked to end the access, too",
    )
    .option("-p, --principal <principal>", "Grants of this caller")
    .option("-t, --tenant <tenant>", "Grants of this tenant")
    .option("--json", "Print the count as JSON")
    .action(async (id: string | undefined, options: Grants) =>
      (await import("./run.ts")).revokeGrants({ ...options, ...(id !== undefined && { id }) }),
    );
}
