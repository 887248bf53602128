import { describeViolations, type ErrorCode, ParleyError, type Receipt } from "@parley/core";
import { CREDENTIAL_ERRORS, errorMessage, INVALID_PARAMS, INVALID_REQUEST, type Reply } from "@parley/protocol";

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
  return new ParleyError("NOT_PERMITTED", "the question is for other people, who can answer it");
}

/** How errors travel that are no answer to a message. All others travel with 400: their senders have to send something else. */
const SHOWN: { readonly [code in ErrorCode]?: { readonly code: number; readonly httpStatus: number } } = {
  UNAVAILABLE: { code: INVALID_REQUEST, httpStatus: 503 },
  OVERLOADED: { code: INVALID_REQUEST, httpStatus: 503 },
  TOO_MANY_CALLS: { code: INVALID_REQUEST, httpStatus: 429 },
  QUOTA_EXCEEDED: { code: INVALID_REQUEST, httpStatus: 429 },
  INVALID_ANSWER: { code: INVALID_PARAMS, httpStatus: 400 },
  ...CREDENTIAL_ERRORS,
};

/** The reply to what is no request with an id: an HTTP request that is refused before it is read, a response or notification of a session. */
export function refusalReply({ code: name, message, hint, violations }: ParleyError): Reply {
  const { code, httpStatus } = SHOWN[name] ?? { code: INVALID_REQUEST, httpStatus: 400 };
  return { httpStatus, message: errorMessage(undefined, { code, message, data: { code: name, hint, ...(violations && { violations }) } }) };
}
