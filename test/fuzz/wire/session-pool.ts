/** The sessions that a door sends its requests in: one of each revision at a time. */
import { type Caller, SetUpFailed } from "./caller.ts";
import type { InSession, Revision } from "./sessions.ts";

export interface SessionPool {
  of(revision: Revision): Promise<InSession>;
  close(): Promise<void>;
}

/** A session is ended after `uses` requests, and another one opened: what a session follows must not grow into its limits. */
export function sessionPool(caller: Caller, uses: number): SessionPool {
  const open = new Map<Revision, { readonly session: InSession; left: number }>();
  return {
    async of(revision) {
      const known = open.get(revision);
      if (known && known.left > 0) {
        known.left -= 1;
        return known.session;
      }
      if (known && (await caller.end(known.session)) !== 204) throw new SetUpFailed("a session cannot be ended");
      const session = await caller.open(revision);
      open.set(revision, { session, left: uses - 1 });
      return session;
    },
    async close() {
      for (const { session } of open.values()) await caller.end(session).catch(() => 0);
    },
  };
}
