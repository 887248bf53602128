import { type ErrorCode, ParleyError, type Violation } from "@parley/core";
import { CREDENTIAL_ERRORS, isDefect } from "@parley/protocol";
import type { FrontEnd } from "./front-end.ts";

export interface Refusal {
  readonly httpStatus: number;
  readonly body: {
    readonly error: {
      readonly code?: string;
      readonly message: string;
      readonly hint?: string;
      readonly violations?: readonly Violation[];
    };
  };
  readonly retryAfterSeconds?: number;
}

const STATUS: { readonly [code in ErrorCode]?: number } = {
  TASK_NOT_FOUND: 404,
  TOOL_NOT_FOUND: 404,
  INVALID_ARGUMENTS: 422,
  IDEMPOTENCY_KEY_REUSED: 422,
  EVENT_NOT_FOUND: 404,
  EVENT_LATE: 409,
  INVALID_EVENT: 422,
  TOO_LARGE: 413,
  NOT_PERMITTED: 403,
  CONTENT_KEY_MISSING: 503,
  CONTENT_ERASED: 410,
  CONTENT_DAMAGED: 500,
  QUOTA_EXCEEDED: 429,
  OVERLOADED: 503,
  CALL_TIMEOUT: 503,
  STORAGE_SCARCE: 503,
  UNAVAILABLE: 503,
  ...Object.fromEntries(Object.entries(CREDENTIAL_ERRORS).map(([code, { httpStatus }]) => [code, httpStatus])),
};

/** The reply to an error. For a defect it contains only the id under which the log has the details. */
export function refusalOf({ services, log }: Pick<FrontEnd, "services" | "log">, error: unknown): Refusal {
  if (error instanceof ParleyError) {
    const { code, message, hint, violations, data } = error;
    const waitMs = data?.["retryAfterMs"];
    return {
      httpStatus: STATUS[code] ?? 400,
      body: { error: { code, message, hint, ...(violations && { violations }) } },
      ...(typeof waitMs === "number" && { retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
    };
  }
  const { statusCode } = error as { readonly statusCode?: number };
  if (error instanceof Error && statusCode !== undefined && statusCode < 500) {
    return { httpStatus: statusCode, body: { error: { message: error.message } } };
  }
  const defectId = services.ids.uuid();
  if (isDefect(error)) log.error({ defectId, err: error }, "request failed");
  return { httpStatus: 500, body: { error: { message: `an internal error occurred; the log has details under ${defectId}` } } };
}
