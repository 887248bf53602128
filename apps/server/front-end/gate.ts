import { type Caller, type ErrorCode, isCounted, noteQuota, ParleyError, RETRY_AFTER_MS, type Services } from "@parley/core";

/** Limits how many things of one kind are open at once in this process. */
export interface Gate {
  /** Takes a place and returns the function that releases it. Throws OVERLOADED, or the gate's own code, when the gate is full. */
  enter(): () => void;
  readonly open: number;
}

/** `what` is part of the error message: it names the things that are counted and the setting that limits them. */
export function gate(what: string, most: number, code: ErrorCode = "OVERLOADED"): Gate {
  let open = 0;
  return {
    get open() {
      return open;
    },
    enter() {
      if (open >= most) {
        const data = code === "QUOTA_EXCEEDED" ? { data: { retryAfterMs: RETRY_AFTER_MS } } : {};
        throw new ParleyError(code, `${most} ${what} are open`, data);
      }
      open += 1;
      let inside = true;
      return () => {
        if (inside) open -= 1;
        inside = false;
      };
    },
  };
}

/** One gate per name, for example per session. An empty gate is dropped. */
export interface Gates {
  enter(name: string): () => void;
}

export function gates(what: string, most: number, code: ErrorCode): Gates {
  const byName = new Map<string, Gate>();
  return {
    enter(name) {
      const own = byName.get(name) ?? gate(what, most, code);
      const leave = own.enter();
      byName.set(name, own);
      return () => {
        leave();
        // Releasing a place twice must not drop a gate that was opened under this name in between.
        if (own.open === 0 && byName.get(name) === own) byName.delete(name);
      };
    },
  };
}

interface Places {
  /** A caller that has reached its quota is noted in the audit. */
  readonly services: Pick<Services, "audit" | "digest" | "clock">;
}

/** Takes the places of a stream that reports changes: one of this front end and one of the caller. Throws OVERLOADED, QUOTA_EXCEEDED. */
export function enterStream(
  { listens, streams, services }: Places & { readonly listens: Gate; readonly streams: Gates },
  caller: Caller,
): () => void {
  return audited(services, caller, gateFor(caller, listens, streams)).enter();
}

/**
 * The gate for a call that waits for its task. Without a limit per caller, one caller with thousands of unfinished tasks would take every
 * place of the front end.
 */
export function waitGateFor(
  { waits, ownWaits, services }: Places & { readonly waits: Gate; readonly ownWaits: Gates },
  caller: Caller,
): Pick<Gate, "enter"> {
  return audited(services, caller, gateFor(caller, waits, ownWaits));
}

function audited(services: Places["services"], caller: Caller, entered: Pick<Gate, "enter">): Pick<Gate, "enter"> {
  return {
    enter() {
      try {
        return entered.enter();
      } catch (error) {
        noteQuota(services, { caller }, error);
        throw error;
      }
    },
  };
}

/** Limits all callers together and each caller alone. If callers cannot be told apart, only the common limit applies. */
export function gateFor(caller: Caller, all: Gate, own: Gates): Pick<Gate, "enter"> {
  if (!isCounted(caller)) return all;
  return {
    enter() {
      const leaveOwn = own.enter(caller.principal);
      try {
        const leave = all.enter();
        return () => {
          leave();
          leaveOwn();
        };
      } catch (error) {
        leaveOwn();
        throw error;
      }
    },
  };
}
