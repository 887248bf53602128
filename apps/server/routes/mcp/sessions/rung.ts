import type { Climber, Step } from "@parley/protocol";
import { stepIn } from "../shared/step.ts";
import type { SessionExchange, SessionRoute } from "./session-route.ts";

const FORM = { type: "form", message: "", schema: {} } as const;
const URL = { type: "url", message: "", url: "" } as const;

interface Answered extends Pick<SessionExchange, "session" | "dialect"> {
  readonly channel: Pick<SessionExchange["channel"], "acceptsStream">;
}

/** The step of a request in this session, by what its client declared when it began and accepts as a response. */
export function stepInSession(
  route: Pick<SessionRoute, "ladder" | "services">,
  { session: { capabilities }, dialect, channel: { acceptsStream } }: Answered,
  climber: Pick<Climber, "takesTask" | "calls">,
): Step {
  // Its questions come on a stream.
  const shows = { form: acceptsStream && dialect.canAsk(FORM, capabilities), url: acceptsStream && dialect.canAsk(URL, capabilities) };
  return stepIn(route, { ...climber, asksBy: "held", shows, showsViews: capabilities.views === true });
}
