import { listEvents, pollEvents } from "./requests.ts";
import { streamEvents } from "./stream.ts";
import { subscribeEvents, unsubscribeEvents } from "./subscribe.ts";

/** Handlers of the events extension in the tables of both families. */
export const EVENTS = { listEvents, pollEvents, streamEvents, subscribeEvents, unsubscribeEvents };
