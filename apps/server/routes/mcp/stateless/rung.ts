import type { Climber, Step } from "@parley/protocol";
import type { ClientFacts } from "@parley/protocol/stateless";
import { stepIn } from "../shared/step.ts";
import type { StatelessRoute } from "./stateless-route.ts";

/** The step of a request of this family, by what it declares. */
export function stepOfRequest(
  route: Pick<StatelessRoute, "ladder" | "services">,
  { capabilities: { elicitation, views } }: Pick<ClientFacts, "capabilities">,
  climber: Pick<Climber, "takesTask" | "calls">,
): Step {
  const shows = { form: elicitation?.form === true, url: elicitation?.url === true };
  return stepIn(route, { ...climber, asksBy: "input_required", shows, showsViews: views === true });
}
