import type { Session, SessionStore } from "@parley/core";
import type { RequestId } from "@parley/protocol";
import type { SessionDialect, SessionEncoder } from "@parley/protocol/sessions";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate, Gates } from "../../../front-end/gate.ts";
import type { AskIds } from "./ask-ids.ts";
import type { EventIds } from "./event-ids.ts";
import type { Voice } from "./voice.ts";

/** What the handlers of sessions work with; one per process. */
export interface Door extends FrontEnd {
  readonly sessions: SessionStore;
  /** Calls of one session that wait for their task. */
  readonly sessionWaits: Gates;
  readonly askIds: AskIds;
  readonly eventIds: EventIds;
  /** By revision. */
  readonly encoders: ReadonlyMap<string, SessionEncoder>;
}

/** A session as one request finds it. */
export interface Talk {
  readonly session: Session;
  readonly dialect: SessionDialect;
  readonly encode: SessionEncoder;
}

/** One request on its way to its answer. */
export interface Asked {
  readonly id: RequestId;
  readonly voice: Voice;
  /** Calls of its batch that wait for their task. */
  readonly batchWaits?: Gate;
}
