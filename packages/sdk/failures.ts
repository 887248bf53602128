/** What authors can meet, beside core's ToolError, RpcFailure, StepFailed and ParleyError. */

/** A tool, prompt or resource that cannot be served as it is written. Thrown while modules load, so that a deployment fails before it starts. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
}

/** An elicitation that ended without an answer. Uncaught it ends the tool with a result that says so. */
export abstract class Unanswered extends Error {
  /** The name of the ask. */
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

/** Nobody answered before the deadline. */
export class TimedOut extends Unanswered {
  override readonly name = "TimedOut";
  constructor(ask: string) {
    super(ask, `Nobody answered the question "${ask}" in time. The tool stopped there.`);
  }
}
