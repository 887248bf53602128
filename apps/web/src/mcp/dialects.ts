import type { Endpoint } from "../wire/endpoint.ts";
import { sessionCalls, sessionTasks } from "./sessions.ts";
import { statelessCalls, statelessTasks } from "./stateless.ts";
import type { Dialect } from "./types.ts";

/** All dialects that the person can choose. The first is the default. */
export function dialectsOf(endpoint: Endpoint): readonly Dialect[] {
  return [
    statelessTasks(endpoint),
    statelessCalls(endpoint),
    sessionTasks(endpoint),
    ...["2025-11-25", "2025-06-18", "2025-03-26"].map((version) => sessionCalls(endpoint, version)),
  ];
}
