/** Answers and notifications of the client: messages that have no response, and are repeated until they have arrived. */
import type { Link } from "./link.ts";
import { describe } from "./failures.ts";
import { backoff, pause, waited } from "./patience.ts";
import { post } from "./remote.ts";
import { isAway } from "./responses.ts";
import type { Sessions } from "./sessions.ts";

/** Sends the message until it has arrived. `what` names it in the log. `of` is the session to which it belongs, if not the current one. */
export type Deliver = (text: string, what: string, of?: string) => Promise<void>;

export function createDelivery({ remote, log, limits, memory, closing }: Link, sessions: Pick<Sessions, "find" | "reopen">): Deliver {
  return async (text, what, of) => {
    const startedAtMs = performance.now();
    for (let attempt = 0; !closing.aborted; attempt += 1) {
      const session = sessions.find(of);
      try {
        const response = await post(remote, text, memory.headers(session), closing);
        await response.body?.cancel();
        if (response.status === 404 && session && (await sessions.reopen(session)) && attempt === 0) continue;
        if (!(isAway(response) || response.status === 429) || waited(startedAtMs) > limits.requestPatienceMs) {
          // The log must not contain answers, and the body of the refusal may repeat one.
          if (!response.ok) log(`the server refused ${what} with HTTP ${response.status}`);
          return;
        }
      } catch (error) {
        if (closing.aborted) return;
        if (waited(startedAtMs) > limits.requestPatienceMs) return log(`${what} could not be delivered: ${describe(error)}`);
      }
      await pause(backoff(attempt), closing);
    }
  };
}
