import { type Climber, type Step, stepOf } from "@parley/protocol";
import type { FrontEnd } from "../../../front-end/front-end.ts";

/** How the questions of a request reach a person here. A deployment where a question ends if its client cannot be asked has nothing to tell in words. */
export function stepIn({ ladder, services }: Pick<FrontEnd, "ladder" | "services">, climber: Climber): Step {
  const { fallsToText, ...step } = stepOf(climber, ladder.rungs);
  return { ...step, fallsToText: fallsToText && services.settings.taskWithoutCapability === "wait" };
}
