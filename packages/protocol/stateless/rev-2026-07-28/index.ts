/** MCP 2026-07-28 with the Tasks extension. */
import type { Dialect } from "../dialect.ts";
import { claims, decode } from "./decode.ts";
import { encoder, type Encoder } from "./encoder.ts";
import type { Intent } from "./intents.ts";
import { VERSION } from "./names.ts";

export const rev20260728: Dialect<Intent, Encoder> = { version: VERSION, claims, decode, encoder };

export { ERROR_CODES, type Failure } from "./errors.ts";
export type { Encoder } from "./encoder.ts";
export type { Filter, ListKind } from "./encode-listen.ts";
export type * from "./intents.ts";
export { HEADER_MISMATCH, MISSING_CAPABILITY } from "./names.ts";
