/** Tells a Redis that is unreachable or cannot serve (UNAVAILABLE: try again) from a command that is wrong. */
import { describeOrigin, ParleyError } from "@parley/core";

/** Replies of a Redis that is reachable but cannot serve: starting, a replica, a cluster in repair, out of memory. */
const CANNOT_SERVE = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|MISCONF|BUSY)\b/;
/** What an operator has to look at. The others pass by themselves. */
const SENTENCES: Readonly<Record<string, string>> = {
  OOM: "Redis has used up its memory (maxmemory) and accepts no writes until some is free",
  READONLY: "Redis is a replica and accepts no writes: a failover is under way, or REDIS_URL names a replica",
  MISCONF: "Redis cannot write to its disk and accepts no writes until it can (MISCONF)",
};
/** What ioredis rejects a command with when there is no connection; it has no codes for these. */
const NO_CONNECTION =
  /^(Connection is closed|Command timed out|Stream isn't writeable|Reached the max retries|None of startup nodes|Too many Cluster redirections|Cluster is(n't| disc)|Node is disconnected|All sentinels are unreachable|Failed to refresh slots cache)/;

/** The command's reply; a Redis that cannot be reached or cannot serve becomes UNAVAILABLE, any other error stays what it is. */
export async function reached<T>(command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (cause) {
    if (!(cause instanceof Error) || !isUnavailable(cause)) throw cause;
    throw new ParleyError("UNAVAILABLE", problemOf(cause), { cause });
  }
}

/**
 * What the log shows of an error whose message can quote someone's answer: where it came from and, if Redis replied with it, the word that
 * its reply began with, such as OOM or NOPERM.
 */
export function originOf(error: unknown): ReturnType<typeof describeOrigin> & { readonly reply?: string } {
  const cause = error instanceof ParleyError ? error.cause : error;
  const [reply] = cause instanceof Error && cause.name === "ReplyError" ? (/^[A-Z]+\b/.exec(cause.message) ?? []) : [];
  return { ...describeOrigin(error), ...(reply !== undefined && { reply }) };
}

/** The message for callers. Redis' own message stays in the cause, because it names addresses, keys and lines of scripts. */
function problemOf({ name, message }: Error): string {
  if (name === "ReplyError") {
    const word = CANNOT_SERVE.exec(message)?.[1] ?? "";
    return SENTENCES[word] ?? `Redis cannot serve now: ${word}`;
  }
  return message.startsWith("Command timed out") ? "Redis did not answer in time" : "Redis cannot be reached";
}

function isUnavailable(error: Error): boolean {
  if (error.name === "ReplyError") return CANNOT_SERVE.test(error.message);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return NO_CONNECTION.test(error.message) || /^E[A-Z]+$/.test(code);
}
