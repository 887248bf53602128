/** A session between two calls: what it does of itself ends it, because it belongs to no call. */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import type { SessionOwner, UpstreamSession } from "./upstream-session.ts";

/** The requests of an upstream that have handlers of their own (receive.ts). */
const HANDLED = ["sampling/createMessage", "roots/list"] as const;

export interface IdleSession {
  readonly session: UpstreamSession;
  readonly owner: SessionOwner;
}

/** `leave` is called when the session has ended, or has sent more than it may. */
export function watchIdle({ session: { client }, owner }: IdleSession, leave: (why: string) => void): void {
  client.onclose = () => leave("its server has ended the session");
  owner.onCut = undefined;
  owner.onNotification = undefined;
  owner.onDropped = undefined;
  owner.isAsking = undefined;
  owner.onFlood = () => leave("its server sent too much while no call was open");
}

/** A question belongs to a call that has ended: it could be taken for one of the next call. */
export function refuseQuestions({ session: { client } }: IdleSession, leave: (why: string) => void): void {
  for (const method of HANDLED) client.removeRequestHandler(method);
  client.fallbackRequestHandler = async ({ method }) => {
    leave("its server asked something while no call was open");
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `${method} came while no call was open`);
  };
}

/** A call takes the session, or it is closed. */
export function stopWatching({ session: { client } }: IdleSession): void {
  delete client.onclose;
  delete client.onerror;
  delete client.fallbackRequestHandler;
}

/** The session serves the call that opens it now. */
export function serveCall(
  { session, owner }: IdleSession,
  request: { readonly owner?: SessionOwner; readonly prepare?: (client: UpstreamSession["client"], isMute: boolean) => void },
): void {
  session.begin();
  request.prepare?.(session.client, session.isMute ?? false);
  owner.onCut = request.owner?.onCut;
  owner.onNotification = request.owner?.onNotification;
  owner.onDropped = request.owner?.onDropped;
  owner.onFlood = request.owner?.onFlood;
  owner.isAsking = request.owner?.isAsking;
}
