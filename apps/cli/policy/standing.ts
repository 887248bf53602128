/** Implements `parley policy standing` and `parley policy revoke`: approvals that hold for later calls, read from Redis and ended there. */
import { DEFAULT_TENANT, type StandingApproval } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { redisSettings, toRedisSettings } from "@parley/redis";
import { connectAudited } from "../deployment/is-audited.ts";
import { cleanLine, print, printJson } from "../terminal/terminal.ts";
import { moment } from "../terminal/times.ts";

export interface StandingCommand {
  readonly tenant?: string;
  readonly json?: true;
}

export async function listStanding({ tenant = DEFAULT_TENANT, json }: StandingCommand): Promise<void> {
  await withApprovals(async ({ redis }) => {
    const nowMs = redis.now();
    const approvals = await redis.standing.list({ tenant, nowMs });
    if (json) return printJson({ tenant, approvals });
    if (approvals.length === 0) print("no standing approvals");
    for (const each of approvals) print(standingLine(each, nowMs));
  });
}

export function standingLine({ id, tool, principal, by, rule, left, uses, untilMs }: StandingApproval, nowMs: number): string {
  const what = `calls of ${cleanLine(tool)} by ${cleanLine(principal)}, approved by ${cleanLine(by)} (rule ${cleanLine(rule)})`;
  return `${id}  ${what}: ${left} of ${uses} left, until ${moment(untilMs, nowMs)}`;
}

export async function revokeStanding(id: string, { tenant = DEFAULT_TENANT, json }: StandingCommand): Promise<void> {
  await withApprovals(async ({ redis, audit }) => {
    const revoked = await redis.standing.revoke({ tenant, id });
    if (revoked) await audit?.note({ action: "approval", did: "revoked", standing: id, ...(tenant !== DEFAULT_TENANT && { tenant }) });
    else process.exitCode = 1;
    if (json) printJson({ id, tenant, revoked });
    else print(revoked ? "revoked: the next such call asks again" : "no such standing approval: `parley policy standing` lists them");
  });
}

type Connected = Awaited<ReturnType<typeof connectAudited>>;

async function withApprovals(work: (connected: Connected) => Promise<void>): Promise<void> {
  const connected = await connectAudited(toRedisSettings(readEnvironment(redisSettings, process.env)));
  try {
    await work(connected);
  } finally {
    await connected.redis.close();
  }
}
