import { type Climber, type Rung, rungOf } from "@parley/protocol";
import type { ClientFacts } from "@parley/protocol/stateless";
import type { StatelessRoute } from "./stateless-route.ts";

/** The rung of a request of this family, by what it declares. */
export function rungOfRequest(
  { ladder }: Pick<StatelessRoute, "ladder">,
  { capabilities: { elicitation, views } }: Pick<ClientFacts, "capabilities">,
  climber: Pick<Climber, "takesTask" | "calls">,
): Rung | undefined {
  const shows = { form: elicitation?.form === true, url: elicitation?.url === true };
  return rungOf({ ...climber, asksBy: "input_required", shows, showsViews: views === true }, ladder.rungs);
}
