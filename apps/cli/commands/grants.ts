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
    .description("shows and revokes access that people granted for later calls to upstreams (`oauth.keep`); needs REDIS_URL");
  grants
    .command("list")
    .description("prints who granted which upstream what, when it was last used and when it ends, but no tokens")
    .option("-p, --principal <principal>", "only those of this caller")
    .option("-t, --tenant <tenant>", "only those of this tenant")
    .option("--json", "one JSON object per line")
    .action(async (options: Grants) => (await import("../grants.ts")).listGrants(options));
  grants
    .command("revoke [id]")
    .description("removes grants: later calls ask the person again, and running ones when they next need a token")
    .option("-p, --principal <principal>", "those of this caller")
    .option("-t, --tenant <tenant>", "those of this tenant")
    .option("--json", "print the count as JSON")
    .action(async (id: string | undefined, options: Grants) =>
      (await import("../grants.ts")).revokeGrants({ ...options, ...(id !== undefined && { id }) }),
    );
}
