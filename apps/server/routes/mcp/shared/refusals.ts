import { assuranceRefusal, describeProblems, type ErrorCode, type JsonObject, ParleyError, type Receipt } from "@parley/core";
import { loginPageOf } from "../../../front-end/page-addresses.ts";
import { CREDENTIAL_ERRORS, errorMessage, INVALID_PARAMS, INVALID_REQUEST, type Reply } from "@parley/protocol";

/**
 * Throws for answers that were refused: INVALID_ANSWER with all violations, whose paths begin with the ask's key; NOT_PERMITTED for answers
 * to questions that others are asked, or that need a login. The remaining answers have been accepted. The error says so: its sender would
 * repeat or change them.
 */
export function throwIfRefused(receipts: ReadonlyMap<string, Receipt>, at: AnsweredAt): void {
  const violations = [...receipts].flatMap(([key, receipt]) =>
    receipt.type === "invalid" ? receipt.violations.map((violation) => ({ ...violation, path: `/${key}${violation.path}` })) : [],
  );
  const accepted = [...receipts].filter(([, { type }]) => type === "accepted" || type === "duplicate").map(([key]) => key);
  const beside =
    accepted.length === 0 ? "" : accepted.length === 1 ? ". The other answer was accepted" : ". The other answers were accepted";
  const data = accepted.length === 0 ? {} : { data: { accepted } };
  if (violations.length > 0)
    throw new ParleyError("INVALID_ANSWER", `refused: ${describeProblems(violations)}${beside}`, { violations, ...data });
  if ([...receipts.values()].some(({ type }) => type === "forbidden")) throw notPermitted(beside, data);
  for (const [key, receipt] of receipts) if (receipt.type === "login_required") throw loginRequired(receipt, { ...at, key }, beside, data);
}

interface AnsweredAt {
  readonly taskId: string;
  readonly urlOf?: ((taskId: string, key: string) => string) | undefined;
}

/** Of an answer that needs another door. */
export function loginRequired(
  { assurance }: Extract<Receipt, { readonly type: "login_required" }>,
  { taskId, key, urlOf }: AnsweredAt & { readonly key: string },
  beside = "",
  data: { readonly data?: JsonObject } = {},
): ParleyError {
  return new ParleyError("NOT_PERMITTED", `${assuranceRefusal(assurance, loginPageOf({ urlOf }, { taskId, key }))}${beside}`, data);
}

export function notPermitted(beside = "", data: { readonly data?: JsonObject } = {}): ParleyError {
  return new ParleyError("NOT_PERMITTED", `the question is for other people${beside}`, data);
}

/** JSON-RPC code and HTTP status of errors that do not answer a message. All others are INVALID_REQUEST with status 400. */
const CODES: { readonly [code in ErrorCode]?: { readonly code: number; readonly httpStatus: number } } = {
  UNAVAILABLE: { code: INVALID_REQUEST, httpStatus: 503 },
  OVERLOADED: { code: INVALID_REQUEST, httpStatus: 503 },
  TOO_MANY_CALLS: { code: INVALID_REQUEST, httpStatus: 429 },
  QUOTA_EXCEEDED: { code: INVALID_REQUEST, httpStatus: 429 },
  INVALID_ANSWER: { code: INVALID_PARAMS, httpStatus: 400 },
  ...CREDENTIAL_ERRORS,
};

/**
 * The reply if there is no request id to answer: to an HTTP request that is refused before it is read, or to a response or notification.
 */
export function refusalReply({ code: name, message, hint, violations, data }: ParleyError): Reply {
  const { code, httpStatus } = CODES[name] ?? { code: INVALID_REQUEST, httpStatus: 400 };
  return {
    httpStatus,
    message: errorMessage(undefined, { code, message, data: { ...data, code: name, hint, ...(violations && { violations }) } }),
  };
}
