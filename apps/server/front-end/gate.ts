import { ParleyError } from "@parley/core";

/** How many of a kind may be open at once in this process. */
export interface Gate {
  /** Returns what to call on leaving. Throws OVERLOADED when it is full. */
  enter(): () => void;
  readonly open: number;
}

/** `what` names what is counted and the setting that bounds it, for the error's reader. */
export function gate(what: string, most: number): Gate {
  let open = 0;
  return {
    get open() {
      return open;
    },
    enter() {
      if (open >= most) throw new ParleyError("OVERLOADED", `${most} ${what} are open`);
      open += 1;
      let inside = true;
      return () => {
        if (inside) open -= 1;
        inside = false;
      };
    },
  };
}
