import { type Climber, type Rung, rungOf } from "@parley/protocol";
import type { SessionExchange, SessionRoute } from "./session-route.ts";

const FORM = { type: "form", message: "", schema: {} } as const;
const URL = { type: "url", message: "", url: "" } as const;

/** The rung of a request in this session, by what its client declared when it began and accepts as a response. */
export function rungInSession(
  { ladder }: Pick<SessionRoute, "ladder">,
  { session: { capabilities }, dialect, channel: { acceptsStream } }: Pick<SessionExchange, "session" | "dialect" | "channel">,
  climber: Pick<Climber, "takesTask" | "calls">,
): Rung | undefined {
  // Its questions come on a stream.
  const shows = { form: acceptsStream && dialect.canAsk(FORM, capabilities), url: acceptsStream && dialect.canAsk(URL, capabilities) };
  return rungOf({ ...climber, asksBy: "held", shows, showsViews: capabilities.views === true }, ladder.rungs);
}
