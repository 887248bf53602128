/**
 * Credential errors, in the codes of every revision. HTTP carries most of the information: clients read the status and WWW-Authenticate, people
 * the message.
 *
 * Source: specification 2026-07-28, basic/authorization, "Error Handling"; RFC 6750, 3.1.
 */
import type { ErrorCode } from "@parley/core";
import type { Shown } from "./failures.ts";
import { INTERNAL_ERROR, INVALID_REQUEST } from "./json-rpc.ts";

const UNAUTHORIZED: Shown = { code: INVALID_REQUEST, httpStatus: 401 };
const PROVIDER: Shown = { code: INTERNAL_ERROR, httpStatus: 503 };

export const CREDENTIAL_ERRORS = {
  CREDENTIALS_MISSING: UNAUTHORIZED,
  CREDENTIALS_MISPLACED: { code: INVALID_REQUEST, httpStatus: 400 },
  TOKEN_TOO_LARGE: UNAUTHORIZED,
  TOKEN_MALFORMED: UNAUTHORIZED,
  TOKEN_ALGORITHM_REFUSED: UNAUTHORIZED,
  TOKEN_ISSUER_UNKNOWN: UNAUTHORIZED,
  TOKEN_KEY_UNKNOWN: UNAUTHORIZED,
  TOKEN_SIGNATURE_INVALID: UNAUTHORIZED,
  TOKEN_EXPIRED: UNAUTHORIZED,
  TOKEN_NOT_YET_VALID: UNAUTHORIZED,
  TOKEN_AUDIENCE_REFUSED: UNAUTHORIZED,
  TOKEN_CLAIM_INVALID: UNAUTHORIZED,
  TOKEN_INACTIVE: UNAUTHORIZED,
  // Only people in browsers get this one, on pages.
  LOGIN_REFUSED: UNAUTHORIZED,
  SCOPE_INSUFFICIENT: { code: INVALID_REQUEST, httpStatus: 403 },
  PROXY_NOT_TRUSTED: UNAUTHORIZED,
  PROVIDER_UNAVAILABLE: PROVIDER,
  PROVIDER_INVALID: PROVIDER,
} as const satisfies { readonly [code in ErrorCode]?: Shown };
