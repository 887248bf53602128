import { type Deposits, ParleyError, type TaskStore } from "@parley/core";
import type { DepositSeal } from "@parley/node";

/** Opens deposits, which people leave on pages, when a step needs them. Their content is not kept in memory. */
export function createDeposits(store: Pick<TaskStore, "deposit" | "redeposit">, seal: DepositSeal): Deposits {
  return {
    async replace(taskId, key, before, text) {
      const sealed = await store.deposit(taskId, key);
      if (sealed === undefined || seal.open(taskId, key, sealed) !== before) return false;
      return await store.redeposit({ taskId, key, before: sealed, deposit: seal.seal(taskId, key, text) });
    },
    async open(taskId, key) {
      const sealed = await store.deposit(taskId, key);
      if (sealed === undefined) throw new ParleyError("DEPOSIT_UNREADABLE", `this task has no deposit of the page "${key}"`);
      return seal.open(taskId, key, sealed);
    },
  };
}
