import { describeViolations, type ErrorCode, ParleyError, type Receipt } from "@parley/core";
import { errorMessage, INVALID_PARAMS, INVALID_REQUEST, type Reply } from "@parley/protocol";

/**
 * Throws for answers that were not taken: INVALID_ANSWER with what is wrong with each, the ask's key first in its path; NOT_PERMITTED for those to
 * questions that are put to others. The rest was taken.
 */
export function refuse(receipts: ReadonlyMap<string, Receipt>): void {
  const violations = [...receipts].flatMap(([key, receipt]) =>
    receipt.type === "invalid" ? receipt.violations.map(({ path, message }) => ({ path: `/${key}${path}`, message })) : [],
  );
  if (violations.length > 0) throw new ParleyError("INVALID_ANSWER", `refused: ${describeViolations(violations)}`, { violations });
  if ([...receipts.values()].some(({ type }) => type === "forbidden")) throw notPermitted();
}

export function notPermitted(): ParleyError {
  return new ParleyError("NOT_PERMITTED", "the question is put to others, who can answer it");
}

/** HTTP statuses of errors that say nothing about the request itself: it may be sent again. All others travel with 400. */
const STATUS_OF: { readonly [code in ErrorCode]?: number } = { UNAVAILABLE: 503, OVERLOADED: 503, TOO_MANY_CALLS: 429 };

/** The reply to what is no request with an id: an HTTP request that is refused before it is read, a response or notification of a session. */
export function refusalReply({ code: name, message, hint, violations }: ParleyError): Reply {
  const code = name === "INVALID_ANSWER" ? INVALID_PARAMS : INVALID_REQUEST;
  return {
    httpStatus: STATUS_OF[name] ?? 400,
    message: errorMessage(undefined, { code, message, data: { hint, ...(violations && { violations }) } }),
  };
}
