import { type Deposits, ParleyError, type TaskStore } from "@parley/core";
import type { DepositSeal } from "@parley/node";

/** What people left on pages, opened when a step asks for it and kept nowhere. */
export function createDeposits(store: Pick<TaskStore, "deposit" | "redeposit">, seal: DepositSeal): Deposits {
  return {
    async replace(taskId, key, before, text) {
      const sealed = await store.deposit(taskId, key);
      if (sealed === undefined || seal.open(taskId, key, sealed) !== before) return false;
      return await store.redeposit({ taskId, key, before: sealed, deposit: seal.seal(taskId, key, text) });
    },
    async open(taskId, key) {
      const sealed = await store.deposit(taskId, key);
      if (sealed === undefined) throw new ParleyError("DEPOSIT_UNREADABLE", `nothing is left of the page "${key}" of this task`);
      return seal.open(taskId, key, sealed);
    },
  };
}
