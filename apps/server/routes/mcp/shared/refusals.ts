import { describeViolations, ParleyError, type Receipt } from "@parley/core";

/** Throws INVALID_ANSWER with what is wrong with each refused answer, the ask's key first in its path. The others were taken. */
export function refuseInvalid(receipts: ReadonlyMap<string, Receipt>): void {
  const violations = [...receipts].flatMap(([key, receipt]) =>
    receipt.type === "invalid" ? receipt.violations.map(({ path, message }) => ({ path: `/${key}${path}`, message })) : [],
  );
  if (violations.length > 0) throw new ParleyError("INVALID_ANSWER", `refused: ${describeViolations(violations)}`, { violations });
}
