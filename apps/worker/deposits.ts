import { type Deposits, ParleyError, type TaskStore } from "@parley/core";
import type { DepositSeal } from "@parley/node";

/** What people left on pages, opened when a step asks for it and kept nowhere. */
export function createDeposits(store: Pick<TaskStore, "deposit">, seal: DepositSeal): Deposits {
  return {
    async open(taskId, key) {
      const sealed = await store.deposit(taskId, key);
      if (sealed === undefined) throw new ParleyError("DEPOSIT_UNREADABLE", `nothing is left of the page "${key}" of this task`);
      return seal.open(taskId, key, sealed);
    },
  };
}
