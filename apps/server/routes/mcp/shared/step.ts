import type { ClientCapabilities } from "@parley/core";
import { askableOn, type Climber, isInWords, type Step, stepOf } from "@parley/protocol";
import type { FrontEnd } from "../../../front-end/front-end.ts";

type Route = Pick<FrontEnd, "ladder" | "services">;

/** How the questions of a request reach a person here. A deployment where a question ends if its client cannot be asked has nothing to tell in words. */
export function stepIn({ ladder, services }: Route, climber: Climber): Step {
  const { fallsToText, ...step } = stepOf(climber, ladder.rungs);
  return { ...step, fallsToText: fallsToText && services.settings.taskWithoutCapability === "wait" };
}

/** What a call on this step can ask its client, or the person behind it by another door. A tool that `needs` more is refused before anything starts. */
export function reachedOn(
  { services }: Pick<Route, "services">,
  { rung, fallsToText, formsByPage }: Step,
  declared: ClientCapabilities,
): ClientCapabilities {
  const isAnswered = services.settings.taskWithoutCapability === "wait" && (rung === "task" || isInWords(rung) || fallsToText);
  const askable = askableOn(rung, declared);
  const { form = false, url = false } = askable.elicitation ?? {};
  return { ...askable, elicitation: { form: form || formsByPage || isAnswered, url: url || isAnswered } };
}
