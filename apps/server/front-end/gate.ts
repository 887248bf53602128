import { type Caller, type ErrorCode, noteQuota, ParleyError, RETRY_AFTER_MS, type Services, sharedPlaces, takerOf } from "@parley/core";

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
      if (open >= most) throw full(`${most} ${what} are open`, code);
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

/** Places of one kind that callers divide among themselves by shares: packages/core/callers/shares.ts has the rule. */
export interface SharedGate {
  /** Takes a place for the caller and returns the function that releases it. Throws OVERLOADED, QUOTA_EXCEEDED, or the code of `own`. */
  enter(caller: Caller): () => void;
  readonly open: number;
}

export interface SharedGateOptions {
  /** Names the things that are counted, and the setting that limits them, for the error message. */
  readonly what: string;
  readonly most: number;
  /** How many one caller may have at most, however many are free. */
  readonly own: { readonly what: string; readonly most: number; readonly code?: ErrorCode };
}

export function sharedGate({ what, most, own }: SharedGateOptions): SharedGate {
  const places = sharedPlaces(most, own.most);
  return {
    get open() {
      return places.taken;
    },
    enter(caller) {
      const taken = places.take(takerOf(caller));
      switch (taken) {
        case "all":
          throw new ParleyError("OVERLOADED", `${most} ${what} are open`);
        case "own":
          throw full(`${own.most} ${own.what} are open`, own.code ?? "QUOTA_EXCEEDED");
        case "share":
          throw full(`this caller has its share of the ${most} ${what}; some are kept for others`, own.code ?? "QUOTA_EXCEEDED");
        default:
          return taken;
      }
    },
  };
}

function full(message: string, code: ErrorCode): ParleyError {
  return new ParleyError(code, message, code === "QUOTA_EXCEEDED" ? { data: { retryAfterMs: RETRY_AFTER_MS } } : {});
}

/** A caller that has reached its quota is noted in the audit. */
type Noted = { readonly services: Pick<Services, "audit" | "digest" | "clock"> };

/** Takes the place of a stream that reports changes. Throws OVERLOADED, QUOTA_EXCEEDED. */
export function enterStream({ listens, services }: Noted & { readonly listens: SharedGate }, caller: Caller): () => void {
  return audited(services, caller, listens).enter();
}

/** The gate for a call that waits for its task. */
export function waitGateFor({ waits, services }: Noted & { readonly waits: SharedGate }, caller: Caller): Pick<Gate, "enter"> {
  return audited(services, caller, waits);
}

function audited(services: Noted["services"], caller: Caller, gate: SharedGate): Pick<Gate, "enter"> {
  return {
    enter() {
      try {
        return gate.enter(caller);
      } catch (error) {
        noteQuota(services, { caller }, error);
        throw error;
      }
    },
  };
}
