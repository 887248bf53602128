import { type Caller, type ErrorCode, isCounted, ParleyError } from "@parley/core";

/** How many of a kind may be open at once in this process. */
export interface Gate {
  /** Returns what to call on leaving. Throws OVERLOADED, or what the gate was made with, when it is full. */
  enter(): () => void;
  readonly open: number;
}

/** `what` names what is counted and the setting that bounds it, for the error's reader. */
export function gate(what: string, most: number, code: ErrorCode = "OVERLOADED"): Gate {
  let open = 0;
  return {
    get open() {
      return open;
    },
    enter() {
      if (open >= most) throw new ParleyError(code, `${most} ${what} are open`);
      open += 1;
      let inside = true;
      return () => {
        if (inside) open -= 1;
        inside = false;
      };
    },
  };
}

/** A gate for each of many, such as sessions. One that nobody is in is not kept. */
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
        if (own.open === 0) byName.delete(name);
      };
    },
  };
}

/** The places of a stream that tells of changes: in this front end, and in what its caller may have. Throws OVERLOADED, QUOTA_EXCEEDED. */
export function enterListening({ listens, streams }: { readonly listens: Gate; readonly streams: Gates }, caller: Caller): () => void {
  return placesOf(listens, streams, caller).enter();
}

/**
 * The same for a call that waits for its task: without a bound of its own one caller, who may have thousands of unfinished tasks, would take all places
 * of a front end.
 */
export function waitsFor({ waits, ownWaits }: { readonly waits: Gate; readonly ownWaits: Gates }, caller: Caller): Pick<Gate, "enter"> {
  return placesOf(waits, ownWaits, caller);
}

/** Places that all callers share, of which each may have so many. Where callers cannot be told apart, all of them are one, and only shared places count. */
export function placesOf(all: Gate, own: Gates, caller: Caller): Pick<Gate, "enter"> {
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
