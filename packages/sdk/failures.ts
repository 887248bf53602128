/** The errors that authors may encounter, in addition to core's ToolError, RpcFailure, StepFailed and ParleyError. */
import { type AskRequest, type Json, ParleyError, ToolError, usesTools, type Violation } from "@parley/core";

/** A tool, prompt or resource is defined incorrectly. Thrown while modules load, so that a deployment fails before it starts. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
  /** The invalid fields of a schema, if they are known. */
  declare readonly violations?: readonly Violation[];
  constructor(message: string, options: { readonly cause?: unknown; readonly violations?: readonly Violation[] } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (options.violations) this.violations = options.violations;
  }
}

/** A question ended without an answer. If it is not caught, the tool ends with a result that says so. */
export abstract class Unanswered extends Error {
  /** The name of the ask or event. */
  readonly ask: string;
  constructor(ask: string, message: string) {
    super(message);
    this.ask = ask;
  }
}

/** The person said no. */
export class Declined extends Unanswered {
  override readonly name = "Declined";
  /** What the person said about it, if they did. Not in `message`, which may be logged. */
  declare readonly reason?: string;
  constructor(ask: string, reason?: string) {
    super(ask, `The user declined to answer "${ask}". The tool stopped there.`);
    if (reason !== undefined) this.reason = reason;
  }
}

/** The person closed the question without saying yes or no. */
export class Cancelled extends Unanswered {
  override readonly name = "Cancelled";
  constructor(ask: string) {
    super(ask, `The user dismissed the question "${ask}" without answering. The tool stopped there.`);
  }
}

/** The question was not answered, or the event not reported, before the deadline. */
export class TimedOut extends Unanswered {
  override readonly name = "TimedOut";
  /** For a question that several people must accept: how many had accepted, and how many must. */
  declare readonly accepted?: number;
  declare readonly quorum?: number;
  constructor(
    ask: string,
    message = `The question "${ask}" was not answered in time. The tool stopped there.`,
    { accepted, quorum }: { readonly accepted?: number; readonly quorum?: number } = {},
  ) {
    super(ask, message);
    if (accepted !== undefined) this.accepted = accepted;
    if (quorum !== undefined) this.quorum = quorum;
  }
}

/** The tool itself withdrew the question or the event. */
export class Withdrawn extends Unanswered {
  override readonly name = "Withdrawn";
  constructor(ask: string, message = `The tool withdrew the question "${ask}" before it was answered.`) {
    super(ask, message);
  }
}

/** A called tool ended without a result. If it is not caught, the calling tool ends with a result that says so. */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
  /** The key of the call. */
  readonly call: string;
  readonly tool: string;
  /** `cancelled`: by someone other than the calling tool, such as an operator. */
  readonly status: "failed" | "cancelled";
  /** What clients see of the failure. */
  readonly reason: string;
  constructor(call: string, tool: string, status: "failed" | "cancelled", reason: string) {
    super(`The tool ${tool} ${status === "failed" ? "failed" : "was stopped"}: ${reason}`);
    this.call = call;
    this.tool = tool;
    this.status = status;
    this.reason = reason;
  }
}

/**
 * CAPABILITY_REQUIRED: the client cannot be asked this. `data.requiredCapabilities` says what it would have to
 * declare.
 */
export function cannotAsk(ask: string, request: AskRequest): ParleyError {
  const { does, capability, required } = NEEDS[needOf(request)];
  const message = `To continue, the tool ${does} ("${ask}"), and this client cannot be asked that. Call the tool from a client that declares the capability ${capability} and accepts event streams.`;
  return new ParleyError("CAPABILITY_REQUIRED", message, { data: { requiredCapabilities: required } });
}

type Need = AskRequest["type"] | "samplingWithTools";

function needOf(request: AskRequest): Need {
  return usesTools(request) ? "samplingWithTools" : request.type;
}

const NEEDS: Readonly<Record<Need, { readonly does: string; readonly capability: string; readonly required: Json }>> = {
  form: { does: "asks the user to fill in a form", capability: "elicitation", required: { elicitation: { form: {} } } },
  url: { does: "sends the user to a page", capability: "elicitation.url", required: { elicitation: { url: {} } } },
  sampling: { does: "asks the client's model", capability: "sampling", required: { sampling: {} } },
  samplingWithTools: { does: "asks the client's model, with tools", capability: "sampling.tools", required: { sampling: { tools: {} } } },
  roots: { does: "asks for the client's folders", capability: "roots", required: { roots: {} } },
};

/** Whether the error is the tool's answer to the model rather than a failure of the call or of the tool. */
export function isForModel(error: unknown): error is Error {
  if (error instanceof ToolError) return !error.retryable;
  return (
    error instanceof Unanswered || error instanceof ChildFailed || (error instanceof ParleyError && error.code === "CAPABILITY_REQUIRED")
  );
}

/** What the result of a tool says of such an error. */
export function textForModel(error: Error): string {
  return error instanceof Declined && error.reason !== undefined ? `${error.message} They said: ${error.reason}` : error.message;
}

/** Throws the error for an event that was not reported. */
export function throwUnheard(name: string, action: "timeout" | "withdrawn"): never {
  if (action === "timeout") throw new TimedOut(name, `The event "${name}" was not reported in time. The tool stopped there.`);
  throw new Withdrawn(name, `The tool gave up waiting for "${name}".`);
}

/** How a question ended without an answer: as `ctx.ask` returns it. */
export interface UnansweredAs {
  readonly action: "decline" | "cancel" | "timeout" | "withdrawn";
  readonly reason?: string;
  readonly accepted?: number;
  readonly quorum?: number;
}

/** Throws the error for a question that was not answered. */
export function throwUnanswered(name: string, { action, reason, ...tally }: UnansweredAs): never {
  switch (action) {
    case "decline":
      throw new Declined(name, reason);
    case "cancel":
      throw new Cancelled(name);
    case "timeout": {
      const { accepted, quorum } = tally;
      if (accepted === undefined) throw new TimedOut(name);
      throw new TimedOut(
        name,
        `Of the ${quorum} people who must accept "${name}", ${accepted} did in time. The tool stopped there.`,
        tally,
      );
    }
    case "withdrawn":
      throw new Withdrawn(name);
  }
}
