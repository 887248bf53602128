/**
 * How an error that ended a handler looks to the caller.
 *
 * A tool that says no (ToolError) or breaks (any other error) gives a result with `isError`, for the model to read. A call that cannot have
 * a result fails with a JSON-RPC error: RpcFailure by the author's will, ParleyError for what the catalogue names. Prompts have no
 * `isError`; theirs all fail.
 */
import { ParleyError, RpcFailure } from "./errors.ts";
import type { Call, Json, Outcome } from "./task.ts";

const INTERNAL_ERROR = -32603;
const INVALID_PARAMS = -32602;

export function outcomeOf(error: unknown, call: Pick<Call, "kind">): Outcome {
  if (error instanceof RpcFailure) {
    const data = error.data === undefined ? {} : { data: asJson(error.data) };
    return { type: "error", error: { code: error.code, message: error.message, ...data } };
  }
  if (error instanceof ParleyError) {
    const data = {
      code: error.code,
      hint: error.hint,
      ...(error.violations && { violations: asJson(error.violations) }),
      ...(error.data && asObject(error.data)),
    };
    return {
      type: "error",
      error: { code: error.code === "INVALID_ARGUMENTS" ? INVALID_PARAMS : INTERNAL_ERROR, message: error.message, data },
    };
  }
  const text = error instanceof Error ? error.message : String(error);
  if (call.kind === "prompt") return { type: "error", error: { code: INTERNAL_ERROR, message: text } };
  return { type: "result", result: { content: [{ type: "text", text }], isError: true } };
}

function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? "null") as Json;
}

function asObject(value: Readonly<Record<string, unknown>>): Record<string, Json> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item)]));
}
