/**
 * The asks that one stream has sent, until they are over. A client whose question is answered elsewhere, is no longer needed or times out is told, so
 * that nobody fills in a dialog for nothing (specification 2025-11-25, basic/utilities/cancellation).
 *
 * A client that has replied itself is not told. Its reply may arrive at any front end. One that has the stream notes it; another one tells those who
 * watch the task, ahead of the answer. If that is lost, the client receives a cancellation of a request that it has completed, and ignores it.
 */
import type { Ask, Task } from "@parley/core";
import { markOf } from "./asks.ts";
import type { SessionRoute } from "./session-route.ts";

export interface ShownAsks {
  sent(ask: Ask): void;
  /** The client has replied to the request. */
  replied(requestId: string): void;
  /** Request ids of the asks that are over and that the client has not answered, each once. Without a task, all are over. */
  over(task: Task | undefined): readonly string[];
  /** The stream has ended. */
  leave(): void;
}

/** The streams of this process by the ids of the requests that they have sent. */
export interface ShownHere {
  enter(requestId: string, stream: ShownAsks): void;
  leave(requestId: string, stream: ShownAsks): void;
  /** Returns whether a stream here has sent the request. */
  replied(requestId: string): boolean;
}

export function shownHere(): ShownHere {
  const streams = new Map<string, Set<ShownAsks>>();
  return {
    enter(requestId, stream) {
      const those = streams.get(requestId) ?? new Set();
      streams.set(requestId, those.add(stream));
    },
    leave(requestId, stream) {
      const those = streams.get(requestId);
      those?.delete(stream);
      if (those?.size === 0) streams.delete(requestId);
    },
    replied(requestId) {
      const those = [...(streams.get(requestId) ?? [])];
      for (const stream of those) stream.replied(requestId);
      return those.length > 0;
    },
  };
}

export function shownAsks({ askIds, shown: here }: Pick<SessionRoute, "askIds" | "shown">, sessionId: string, taskId: string): ShownAsks {
  /** Marks by request ids. */
  const shown = new Map<string, string>();
  const markOfAsk = ({ key, refused }: Ask) => markOf({ key, refusals: refused?.count ?? 0 });
  const forget = (requestId: string) => {
    shown.delete(requestId);
    here.leave(requestId, stream);
  };
  const stream: ShownAsks = {
    sent(ask) {
      const requestId = askIds.of(sessionId, taskId, ask);
      shown.set(requestId, markOfAsk(ask));
      here.enter(requestId, stream);
    },
    replied: forget,
    over(task) {
      if (shown.size === 0) return [];
      // A page that the person visits is still open.
      const open = new Set([...(task?.asks ?? []), ...(task?.asksOfOthers ?? [])].map(markOfAsk));
      const over = [...shown].filter(([, mark]) => !open.has(mark)).map(([requestId]) => requestId);
      over.forEach(forget);
      return over;
    },
    leave: () => [...shown.keys()].forEach(forget),
  };
  return stream;
}
