/** What a delivery posts from: the outbox of this deployment, or an event type of an upstream. Both are read from a cursor on. */
import {
  type Caller,
  type Clock,
  cursorOfPlace,
  followPassedOn,
  type JsonObject,
  notOffered,
  type OccurrenceFeed,
  type OccurrenceFilter,
  type Operator,
  type Outbox,
  type PassedOnType,
  placeOfCursor,
  type RpcFailure,
  takerOf,
} from "@parley/core";

/** What is posted: an event, or that something is missing. */
export interface Posting {
  readonly id: string;
  readonly type: string;
  readonly atMs: number;
  readonly data: JsonObject;
  /** Where to continue after it. */
  readonly cursor: string;
}

export interface PostingsRead {
  readonly postings: readonly Posting[];
  /** Where to continue after all of them. */
  readonly cursor: string;
  readonly isTruncated: boolean;
}

export interface SourceListener {
  readonly from: string;
  /** Called one after the other, with what there is to post or is missing. What it rejects with ends the following. */
  deliver(read: PostingsRead): Promise<void>;
  failed(error: unknown): void;
}

export interface Source {
  /** The cursor of now. */
  now(): Promise<string>;
  follow(listener: SourceListener): { cursor(): string; stop(): void };
  /** Absent: it is heard everywhere, and for ever. */
  readonly offer?: SourceOffer;
}

/** Of a source that a worker may not know: while files of upstreams are rolled out, workers have different ones. */
export interface SourceOffer {
  isHere(): Promise<boolean>;
  /** No worker has been offered it for a while. */
  isGone(): void;
}

const AT_ONCE = 50;

export interface OutboxSource {
  readonly outbox: Pick<Outbox, "now">;
  /** Of all deliveries of this process. */
  readonly feed: OccurrenceFeed;
  readonly caller: Caller | Operator;
  readonly filter: OccurrenceFilter;
  readonly urlOf?: ((taskId: string, key: string) => string) | undefined;
}

export function outboxSource({ outbox, feed, caller, filter, urlOf }: OutboxSource): Source {
  return {
    now: async () => cursorOfPlace(await outbox.now()),
    follow({ from, deliver, failed }) {
      const following = feed.follow({
        caller,
        filter,
        from: placeOfCursor(from),
        limit: AT_ONCE,
        ...(urlOf && { urlOf }),
        deliver: ({ occurrences, place, isTruncated }) =>
          deliver({
            postings: occurrences.map(({ place: after, ...each }) => ({ ...each, cursor: cursorOfPlace(after) })),
            cursor: cursorOfPlace(place),
            isTruncated,
          }),
        failed,
        // The feed says so, once for all.
        troubled: () => undefined,
      });
      return { cursor: () => cursorOfPlace(following.place), stop: following.stop };
    },
  };
}

export interface PassedOnSource {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly caller: Caller;
  /** The event type that the caller is offered now. */
  readonly look: (caller: Caller, name: string) => Promise<PassedOnType | undefined>;
  readonly notBeforeMs?: number | undefined;
  readonly clock: Pick<Clock, "sleep">;
  readonly troubled: (error: unknown) => void;
  /** There is nothing to hear any more. */
  readonly ended: (error: RpcFailure) => void;
}

/** An empty cursor is now: the upstream cannot continue anywhere else. */
export function passedOnSource(options: PassedOnSource): Source {
  const { name, arguments: args, caller, look, notBeforeMs = 0, clock, troubled, ended } = options;
  // Said by whichever notices it first, once until it is offered again.
  let isSaid = false;
  const say = (error: unknown) => {
    if (!isSaid) troubled(error);
    isSaid = true;
  };
  return {
    now: async () => "",
    offer: {
      async isHere() {
        if (await look(caller, name)) {
          isSaid = false;
          return true;
        }
        say(notOffered(name));
        return false;
      },
      isGone: () => ended(notOffered(name)),
    },
    follow({ from, deliver, failed }) {
      const following = followPassedOn({
        name,
        look: () => look(caller, name),
        arguments: args,
        from: from === "" ? null : from,
        limit: AT_ONCE,
        taker: takerOf(caller),
        clock,
        async deliver({ events, cursor, isTruncated }) {
          const wanted = events.filter(({ atMs }) => atMs >= notBeforeMs);
          const postings = wanted.map((each) => ({ ...each, type: name, cursor: each.cursor ?? "" }));
          if (postings.length > 0 || isTruncated) await deliver({ postings, cursor: cursor ?? "", isTruncated });
        },
        failed,
        troubled: say,
        ended,
      });
      return { cursor: () => following.cursor ?? "", stop: following.stop };
    },
  };
}
