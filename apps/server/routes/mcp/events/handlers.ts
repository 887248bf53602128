import { listEvents, notOffered, pollEvents } from "./requests.ts";
import { streamEvents } from "./stream.ts";

/** Handlers of the events extension in the tables of both families. */
export const EVENTS = { listEvents, pollEvents, streamEvents, subscribeEvents: notOffered, unsubscribeEvents: notOffered };
