/**
 * Posts to those who subscribed by `events/subscribe` (SEP-3415): a delivery for each subscription, as of the operator's
 * webhooks, that hears what its caller may hear. It ends with its time, or when there is nothing to hear any more, and its receiver is told.
 */
import {
  type Audit,
  type Caller,
  noteSubscriptionOver,
  type OccurrenceFilter,
  OCCURRENCES,
  type PassedOnType,
  type RpcFailure,
  type Subscription,
  subscriptionState,
  type Subscriptions,
  type Turn,
  turns,
} from "@parley/core";
import { randomUUID } from "node:crypto";
import { type Delivery, deliverTo, type DeliverTo, PACE, postTo, type Target } from "./deliver.ts";
import { keyOfSecret } from "./sign.ts";
import { passedOnSource } from "./source.ts";

const LOOK_EVERY_MS = 2_000;
/** Longer than a subscription lasts without being renewed. */
const STATE_MS = 8 * 24 * 60 * 60 * 1_000;
/** When an end that could not be written is tried again. */
const AGAIN_MS = 5_000;
/** Longer than the workers differ in when they notice an end. */
const END_CLAIM_MS = 60_000;
/** Posts to the receivers of one caller at a time: what a thousand of them hear together must not stop the worker for others. */
const POSTS_TOGETHER = 16;
/** By these a receiver refuses one event, "without affecting the subscription itself". */
const REFUSES_ONE: ReadonlySet<number> = new Set([410, 413]);
/** Not found: it was not renewed. */
const EXPIRED = { code: -32_011, message: "the subscription was not renewed in time", data: { kind: "subscription", reason: "expired" } };

export interface ServeSubscriptions extends Omit<DeliverTo, "target"> {
  readonly subscriptions: Subscriptions;
  /** Opens the secret of a subscription. */
  readonly open: (id: string, sealed: string) => string;
  readonly isPrivate: boolean;
  readonly audit?: Audit;
  /** The event type of an upstream that the caller is offered now. Absent: there are no upstreams. */
  readonly passedOn?: ((caller: Caller, name: string) => Promise<PassedOnType | undefined>) | undefined;
  readonly lookEveryMs?: number;
}

/** Follows the subscriptions as they come, are renewed, and end. */
export function serveSubscriptions(options: ServeSubscriptions): Delivery {
  const { subscriptions, services, log, lookEveryMs = LOOK_EVERY_MS } = options;
  const { clock } = services;
  const stopping = new AbortController();
  const running = new Map<
    string,
    { readonly as: string; readonly target: Target; readonly delivery: Delivery; readonly subscription: Subscription }
  >();

  const turnsOf = new Map<string, Turn>();

  function turnOf(subscription: Subscription): Turn {
    const key = callerOf(subscription);
    const turn = turnsOf.get(key) ?? turns(POSTS_TOGETHER);
    turnsOf.set(key, turn);
    return turn;
  }

  async function end(id: string): Promise<void> {
    const known = running.get(id);
    running.delete(id);
    await known?.delivery.stop();
  }

  /** Of one that is over, nothing stays. Whoever ended it knows; a receiver whose client forgot to renew it is told. */
  async function forget(id: string): Promise<void> {
    const known = running.get(id);
    await end(id);
    if (known === undefined) return;
    await options.deliveries.drop(known.target.name);
    if (known.subscription.expiresAtMs <= clock.now()) await tellEnd(known.target, known.subscription);
  }

  /** One worker tries once: the subscription is over whether its receiver hears of it or not. */
  async function tellEnd(target: Target, subscription: Subscription): Promise<void> {
    const { id, expiresAtMs } = subscription;
    const isMine = await options.claims.take(`end of ${id} at ${expiresAtMs}`, randomUUID(), END_CLAIM_MS);
    if (!isMine || (await subscriptions.get(id, clock.now()))) return;
    noteSubscriptionOver(options, subscription, { door: "deadline", verdict: "expired" });
    await postEnd(target, EXPIRED);
  }

  async function postEnd(target: Target, error: object): Promise<void> {
    const message = { id: `msg_terminated_${randomUUID()}`, body: { type: "terminated", error } };
    const { timeoutMs = PACE.timeoutMs } = options.pace ?? {};
    await postTo(target, message, { nowMs: clock.now(), timeoutMs, signal: stopping.signal });
  }

  /** Its event type is gone, or its upstream refuses it. Of workers that find this at once, only one removes it. */
  async function close(subscription: Subscription, target: Target, { code, message, data }: RpcFailure): Promise<void> {
    const { id, type } = subscription;
    // oxlint-disable no-await-in-loop -- until it is written
    while (!stopping.signal.aborted) {
      try {
        if (!(await subscriptions.remove(id))) return;
        noteSubscriptionOver(options, subscription, { door: "gateway", verdict: String(code) });
        log.warn(
          { subscription: id, type, code },
          "a subscription to an upstream's events was ended: they are not offered any more, or refused",
        );
        return await postEnd(target, { code, message, ...(data !== undefined && { data }) });
      } catch (error) {
        log.warn({ err: error, subscription: id }, "the end of a subscription could not be written; it is tried again");
        await clock.sleep(AGAIN_MS, stopping.signal);
      }
    }
    // oxlint-enable no-await-in-loop
  }

  async function follow(all: readonly Subscription[]): Promise<void> {
    const present = new Set(all.map(({ id }) => id));
    const over = [...running.keys()].filter((id) => !present.has(id));
    // Each by itself: receivers take their time.
    await Promise.all(
      over.map((id) =>
        forget(id).catch((error: unknown) => log.warn({ err: error, subscription: id }, "the end of a subscription was not told")),
      ),
    );
    for (const subscription of all) {
      const as = JSON.stringify(subscription);
      if (running.get(subscription.id)?.as === as) continue;
      // Renewed: with another secret, or only for longer, and at once if it was waiting after a failure.
      // oxlint-disable-next-line no-await-in-loop -- the old one must not post beside the new one
      await end(subscription.id);
      const target: Target = targetOfSubscription(subscription, options, (error) => void close(subscription, target, error));
      const delivery = deliverTo({ ...options, target, turn: turnOf(subscription) });
      running.set(subscription.id, { as, target, delivery, subscription });
    }
    const callers = new Set(all.map(callerOf));
    for (const key of turnsOf.keys()) if (!callers.has(key)) turnsOf.delete(key);
  }

  async function run(): Promise<void> {
    let version: string | undefined;
    // oxlint-disable no-await-in-loop -- look after look
    while (!stopping.signal.aborted) {
      try {
        const now = await subscriptions.version();
        const isExpired = [...running.values()].some(({ subscription }) => subscription.expiresAtMs <= clock.now());
        if (now !== version || isExpired) await follow(await subscriptions.list(clock.now()));
        version = now;
      } catch (error) {
        if (!stopping.signal.aborted) log.warn({ err: error }, "subscriptions to events cannot be read; it is tried again");
      }
      await clock.sleep(lookEveryMs, stopping.signal);
    }
    // oxlint-enable no-await-in-loop
    await Promise.all([...running.keys()].map(end));
  }

  const done = run();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

function callerOf({ caller: { tenant, principal } }: Subscription): string {
  return JSON.stringify([tenant, principal]);
}

function targetOfSubscription(
  subscription: Subscription,
  { open, isPrivate, passedOn, services: { clock }, log }: ServeSubscriptions,
  ended: (error: RpcFailure) => void,
): Target {
  const { id, caller, type, arguments: args, url, from, notBeforeMs, secrets } = subscription;
  const valid = secrets.filter(({ untilMs = Infinity }) => untilMs > clock.now());
  const troubled = (error: unknown) =>
    log.warn({ err: error, subscription: id }, "events of an upstream cannot be polled; it is tried again");
  return {
    name: subscriptionState(subscription),
    from,
    keepMs: STATE_MS,
    url: new URL(url),
    keys: valid.flatMap(({ sealed }) => keyOfSecret(open(id, sealed)) ?? []),
    isPrivate,
    caller,
    filter: { types: [type], ...args } as OccurrenceFilter,
    ...(!Object.hasOwn(OCCURRENCES, type) && {
      source: passedOnSource({
        name: type,
        arguments: args,
        caller,
        look: passedOn ?? (async () => undefined),
        notBeforeMs,
        clock,
        troubled,
        ended,
      }),
    }),
    headers: { "x-mcp-subscription-id": id },
    refusesOne: REFUSES_ONE,
    message({ id: eventId, type: name, atMs, data, cursor: after }) {
      const cursor = after === "" ? null : after;
      // A body with `type` is about the subscription, one without is an event.
      if (name === "gap") return { id: `msg_gap_${randomUUID()}`, body: { type: "gap", cursor } };
      return { id: eventId, body: { eventId, name, timestamp: new Date(atMs).toISOString(), data, cursor } };
    },
  };
}
