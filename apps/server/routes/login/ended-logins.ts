/**
 * Logins that ended before their cookie expires. The cookie is all there is of a login, so a copy of it would otherwise be accepted until
 * then. What ended is kept in Redis as a claim, which every front end sees, and which expires with the cookie.
 */
import type { Caller, Claims } from "@parley/core";

export interface SessionLogin {
  readonly caller: Caller;
  readonly untilMs: number;
}

/** Throws UNAVAILABLE. */
export interface EndedLogins {
  end(login: SessionLogin, nowMs: number): Promise<void>;
  has(login: SessionLogin): Promise<boolean>;
}

export function endedLogins(claims: Pick<Claims, "take" | "isTaken">): EndedLogins {
  return {
    end: async (login, nowMs) => void (await claims.take(nameOf(login), "logout", login.untilMs - nowMs)),
    has: async (login) => await claims.isTaken(nameOf(login)),
  };
}

/** Cookies have no id. Two logins of one person that began in the same millisecond end together. */
function nameOf({ caller: { tenant, principal }, untilMs }: SessionLogin): string {
  return ["login", tenant, principal, untilMs].join("\n");
}
