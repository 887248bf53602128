/** What authors can meet, beside core's ToolError, RpcFailure, StepFailed and ParleyError. */
import { type AskRequest, type Json, ParleyError, ToolError, type Violation } from "@parley/core";

/** A tool, prompt or resource that cannot be served as it is written. Thrown while modules load, so that a deployment fails before it starts. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
  /** Which fields of a schema are wrong, where that can be said. */
  declare readonly violations?: readonly Violation[];
  constructor(message: string, options: { readonly cause?: unknown; readonly violations?: readonly Violation[] } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if (options.violations) this.violations = options.violations;
  }
}

/** An elicitation that ended without an answer. Uncaught it ends the tool with a result that says so. */
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
  constructor(ask: string) {
    super(ask, `The user declined to answer "${ask}". The tool stopped there.`);
  }
}

/** The person closed the question without saying yes or no. */
export class Cancelled extends Unanswered {
  override readonly name = "Cancelled";
  constructor(ask: string) {
    super(ask, `The user dismissed the question "${ask}" without answering. The tool stopped there.`);
  }
}

/** Nobody answered, or told of the event, before the deadline. */
export class TimedOut extends Unanswered {
  override readonly name = "TimedOut";
  /** Of a question that several people must accept: how many had, and how many must. */
  declare readonly accepted?: number;
  declare readonly quorum?: number;
  constructor(
    ask: string,
    message = `Nobody answered the question "${ask}" in time. The tool stopped there.`,
    { accepted, quorum }: { readonly accepted?: number; readonly quorum?: number } = {},
  ) {
    super(ask, message);
    if (accepted !== undefined) this.accepted = accepted;
    if (quorum !== undefined) this.quorum = quorum;
  }
}

/** The tool itself withdrew the question, or gave up the event. */
export class Withdrawn extends Unanswered {
  override readonly name = "Withdrawn";
  constructor(ask: string, message = `The tool withdrew the question "${ask}" before anybody answered it.`) {
    super(ask, message);
  }
}

/** A tool that was called came to its end without its result. Uncaught it ends the caller with a result that says so. */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
  /** The key of the call. */
  readonly call: string;
  readonly tool: string;
  /** `cancelled`: by somebody else than the caller, such as an operator. */
  readonly status: "failed" | "cancelled";
  /** What clients are told of the failure. */
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
 * The client cannot be asked what the tool asks: CAPABILITY_REQUIRED, with what it would have to declare in
 * `data.requiredCapabilities`.
 */
export function cannotAsk(ask: string, request: AskRequest): ParleyError {
  const { does, capability, required } = NEEDS[needOf(request)];
  const message = `To continue, the tool ${does} ("${ask}"), and this client cannot be asked that. Call the tool from a client that declares the capability ${capability} and accepts event streams.`;
  return new ParleyError("CAPABILITY_REQUIRED", message, { data: { requiredCapabilities: required } });
}

type Need = AskRequest["type"] | "samplingWithTools";

function needOf(request: AskRequest): Need {
  return request.type === "sampling" && request.params["tools"] !== undefined ? "samplingWithTools" : request.type;
}

const NEEDS: Readonly<Record<Need, { readonly does: string; readonly capability: string; readonly required: Json }>> = {
  form: { does: "asks the user to fill in a form", capability: "elicitation", required: { elicitation: { form: {} } } },
  url: { does: "sends the user to a page", capability: "elicitation.url", required: { elicitation: { url: {} } } },
  sampling: { does: "asks the client's model", capability: "sampling", required: { sampling: {} } },
  samplingWithTools: { does: "asks the client's model, with tools", capability: "sampling.tools", required: { sampling: { tools: {} } } },
  roots: { does: "asks for the client's folders", capability: "roots", required: { roots: {} } },
};

/** Whether the error is the tool's own word to the model, rather than a failure of the call or of the tool. */
export function isForModel(error: unknown): error is Error {
  if (error instanceof ToolError) return !error.retryable;
  return (
    error instanceof Unanswered || error instanceof ChildFailed || (error instanceof ParleyError && error.code === "CAPABILITY_REQUIRED")
  );
}

/** What became of an event that nobody told of, as its error. */
export function throwUnheard(name: string, action: "timeout" | "withdrawn"): never {
  if (action === "timeout") throw new TimedOut(name, `Nothing was heard of "${name}" in time. The tool stopped there.`);
  throw new Withdrawn(name, `The tool gave up waiting for "${name}".`);
}

/** What became of a question that nobody answered, as its error. */
export function throwUnanswered(
  name: string,
  action: "decline" | "cancel" | "timeout" | "withdrawn",
  tally: { readonly accepted?: number; readonly quorum?: number } = {},
): never {
  switch (action) {
    case "decline":
      throw new Declined(name);
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
