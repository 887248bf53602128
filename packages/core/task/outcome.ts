/**
 * How an error that ended a handler looks to the caller.
 *
 *   ToolError, RpcFailure, ParleyError   meant for callers: shown
 *   anything else                        masked, because its message may hold an address, a password, a path or a person's answer:
 *                                        the caller gets an id, and the operator's log has the error under it
 *
 * A tool that says no or breaks produces a result with `isError`, which the model reads. A call that cannot have a
 * result fails with a JSON-RPC error: RpcFailure if the author wants that, ParleyError for catalogue errors. Prompts
 * have no `isError`, so all their errors are JSON-RPC errors.
 */
import { errorText } from "./describe-error.ts";
import { kindOf, ParleyError, RpcFailure, type StepFailed } from "../errors.ts";
import { assertNotFarTooLong, tooLong } from "./stored-length.ts";
import type { Call, Json, Outcome, RpcError } from "../task.ts";

const INTERNAL_ERROR = -32603;
const INVALID_PARAMS = -32602;

export interface OutcomeOptions {
  /** The id under which the error is logged. */
  readonly defectId: string;
  /** For development: show errors that would be masked. */
  readonly showErrors: boolean;
  /** Maximum size of an outcome, in characters of JSON. */
  readonly sizeMax: number;
}

/** Never throws: a run without an outcome would be retried forever. */
export function outcomeOf(error: unknown, call: Pick<Call, "kind" | "name">, options: OutcomeOptions): Outcome {
  const what = `the error of ${call.kind} ${call.name}`;
  let outcome: Outcome;
  let size: number;
  try {
    if (kindOf(error) === "rpc") assertNotFarTooLong(what, [(error as RpcFailure).message, (error as RpcFailure).data], options.sizeMax);
    outcome = outcomeFor(error, call, options);
    size = JSON.stringify(outcome).length;
  } catch (cause) {
    if (cause instanceof ParleyError && cause.code === "TOO_LARGE") return outcomeFor(cause, call, options);
    return outcomeFor(new ParleyError("NOT_SERIALIZABLE", `${what} is not plain data`, { cause }), call, options);
  }
  if (size <= options.sizeMax) return outcome;
  return outcomeFor(tooLong(what, size, options.sizeMax), call, options);
}

function outcomeFor(error: unknown, call: Pick<Call, "kind" | "name">, { defectId, showErrors }: OutcomeOptions): Outcome {
  switch (kindOf(error)) {
    case "rpc":
      return { type: "error", error: rpcError(error as RpcFailure) };
    case "parley":
      return { type: "error", error: catalogueError(error as ParleyError, defectId) };
    case "tool":
      return failed(call, errorText(error), {});
    default:
      return failed(call, showErrors || isShown(error) ? errorText(error) : maskedText(`${call.kind} ${call.name}`, defectId), {
        defectId,
      });
  }
}

/** The id under which an error is logged: the step's own if the step's error was logged already. */
export function defectIdOf(error: unknown, newId: () => string): string {
  const known = kindOf(error) === "step" ? (error as StepFailed).defectId : undefined;
  return known ?? newId();
}

/** Shown in place of a masked error. */
export function maskedText(what: string, defectId: string): string {
  return `${what} failed. What went wrong is in the server's log, under defect ${defectId}.`;
}

/** For development: the error as the reply to a request shows it. Errors that are not masked stay as they are. */
export function unmasked(error: unknown, { defectId, showErrors }: Pick<OutcomeOptions, "defectId" | "showErrors">): unknown {
  if (!showErrors || kindOf(error) === "parley" || kindOf(error) === "rpc") return error;
  return new RpcFailure(INTERNAL_ERROR, errorText(error), { defectId });
}

function isShown(error: unknown): boolean {
  return kindOf(error) === "step" && (error as StepFailed).isForCaller;
}

function failed({ kind }: Pick<Call, "kind">, text: string, data: { readonly defectId?: string }): Outcome {
  if (kind === "prompt")
    return { type: "error", error: { code: INTERNAL_ERROR, message: text, ...(data.defectId !== undefined && { data }) } };
  return { type: "result", result: { content: [{ type: "text", text }], isError: true } };
}

function rpcError({ code, message, data }: RpcFailure): RpcError {
  return {
    code: Number.isSafeInteger(code) ? code : INTERNAL_ERROR,
    message: String(message),
    ...(data !== undefined && { data: asJson(data) }),
  };
}

/** The error has a cause, so the log has more details under the id. */
function catalogueError({ code, message, hint, violations, data, cause }: ParleyError, defectId: string): RpcError {
  return {
    code: code === "INVALID_ARGUMENTS" ? INVALID_PARAMS : INTERNAL_ERROR,
    message,
    data: {
      code,
      hint,
      ...(violations && { violations: asJson(violations) }),
      ...(data && asObject(data)),
      ...(cause !== undefined && { defectId }),
    },
  };
}

function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? "null") as Json;
}

function asObject(value: Readonly<Record<string, unknown>>): Record<string, Json> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item)]));
}
