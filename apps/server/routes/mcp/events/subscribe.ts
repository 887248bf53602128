/**
 * events/subscribe: events are posted to an address of the client's, until the subscription ends or is renewed.
 *
 *   who, what, where ─▶ the same subscription exists ─▶ renewed: time, secret; a delivery that waits tries again
 *                    └▶ new ─▶ the receiver repeats a challenge ─▶ written; a worker posts (@parley/webhooks)
 *
 * Nothing is posted to an address that has not shown that it wants this: anybody can name the address of somebody else.
 *
 * Source: the events extension, "Webhook-Based Delivery", "Webhook Security".
 */
import {
  aboutSubscription,
  type Caller,
  canonicalJson,
  cursorOfPlace,
  type JsonObject,
  noteAudit,
  type Outbox,
  type OutboxPlace,
  ParleyError,
  type PassedOnType,
  placeOfCursor,
  RpcFailure,
  type Subscription,
  type SubscriptionLimits,
  takerOf,
} from "@parley/core";
import { EVENTS_ERRORS, type SubscribeEvents, type UnsubscribeEvents } from "@parley/protocol";
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { SubscriptionDesk } from "../../../front-end/subscription-desk.ts";
import { type Challenges, createChallenges } from "./challenges.ts";
import { filterOf, outboxOf, passedOnOf, placeOf } from "./requests.ts";

const URL_CHARS_MAX = 2_048;
const TTL_MS = { least: 60_000, usual: 3_600_000, most: 7 * 24 * 3_600_000 };
/** How long what was signed with the secret before still verifies. */
const OLD_SECRET_MS = 10 * 60_000;

/** Throws UNAVAILABLE, INVALID_ARGUMENTS, INVALID_CURSOR, and what polls at upstreams throw. */
export async function subscribeEvents(
  route: FrontEnd,
  intent: SubscribeEvents,
  { encode, caller, method, catalogue, door }: Exchange,
): Promise<object> {
  const { outbox } = outboxOf(route, method);
  const desk = deskOf(route, caller);
  const passedOn = passedOnOf(catalogue, intent);
  if (!passedOn) filterOf(route, intent, catalogue);
  const { keyOfSecret } = await import("@parley/webhooks");
  const url = await urlOf(desk, intent.url);
  if (!keyOfSecret(intent.secret)) {
    throw new ParleyError("INVALID_ARGUMENTS", "delivery.secret must be whsec_ and 24 to 64 random bytes in base64");
  }
  const nowMs = route.services.clock.now();
  const id = idOf(caller, { ...intent, url });
  const known = await desk.subscriptions.get(id, nowMs);
  const begin = passedOn ? await beginThere(passedOn, intent, { known, caller, nowMs }) : await beginHere(outbox, intent, nowMs);
  if (!known) await verify(route, desk, { ...intent, url, id, caller });
  const expiresAtMs = nowMs + Math.min(Math.max(intent.ttlMs ?? TTL_MS.usual, TTL_MS.least), TTL_MS.most);
  const subscription: Subscription = {
    id,
    caller,
    type: intent.name,
    arguments: intent.arguments as JsonObject,
    url,
    madeAtMs: known?.madeAtMs ?? nowMs,
    // In the subscription, so that no worker can begin elsewhere.
    from: known?.from ?? begin.from,
    ...((known ?? begin).notBeforeMs !== undefined && { notBeforeMs: (known ?? begin).notBeforeMs }),
    secrets: secretsOf(desk, known, { id, secret: intent.secret, nowMs }),
    expiresAtMs,
  };
  const kept = await desk.subscriptions.put(subscription, desk.limits, nowMs);
  if (kept !== "kept") throw tooMany(kept, desk.limits);
  // Not that it was renewed, which clients do by themselves, every minute if they want.
  if (!known)
    noteAudit(route.services, { caller, door }, () => ({
      action: "subscribe",
      subscription: aboutSubscription({ ...intent, id, type: intent.name }),
    }));
  const state = (await desk.load(subscription)) as State;
  // A live subscription goes on where it is; another one begins at the client's cursor, or now.
  const { place = subscription.from } = state;
  return encode.answer({
    id,
    refreshBefore: new Date(expiresAtMs).toISOString(),
    cursor: place === "" ? null : place,
    truncated: await begin.isTruncatedAt(place),
    ...(known && { deliveryStatus: statusOf(state) }),
  });
}

/** Throws UNAVAILABLE. */
export async function unsubscribeEvents(
  route: FrontEnd,
  intent: UnsubscribeEvents,
  { encode, caller, method, door }: Exchange,
): Promise<object> {
  outboxOf(route, method);
  const desk = deskOf(route, caller);
  const id = idOf(caller, { ...intent, url: hrefOf(intent.url) });
  const existed = await desk.subscriptions.remove(id);
  if (!existed) throw new RpcFailure(EVENTS_ERRORS.NotFound, "there is no such subscription", { kind: "subscription" });
  noteAudit(route.services, { caller, door }, () => ({
    action: "unsubscribe",
    subscription: aboutSubscription({ ...intent, id, type: intent.name }),
  }));
  return encode.answer({});
}

function deskOf({ desk }: Pick<FrontEnd, "desk">, { authenticatedBy }: Caller): SubscriptionDesk {
  if (!desk) {
    throw new RpcFailure(EVENTS_ERRORS.Unsupported, "this server delivers events by events/poll and events/stream, not to a webhook", {
      feature: "deliveryMode",
      value: "webhook",
    });
  }
  // Without a principal anybody could end or take over another's subscription.
  if (authenticatedBy === "nobody")
    throw new RpcFailure(EVENTS_ERRORS.Forbidden, "subscribing needs a login: events/poll and events/stream do not");
  return desk;
}

/** Throws INVALID_ARGUMENTS. */
async function urlOf({ isPrivate }: SubscriptionDesk, text: string): Promise<string> {
  const { isPublicHost } = await import("@parley/webhooks");
  const url = text.length <= URL_CHARS_MAX && URL.canParse(text) ? new URL(text) : undefined;
  const refuse = (problem: string) => new ParleyError("INVALID_ARGUMENTS", `delivery.url ${problem}`);
  if (!url) throw refuse(`must be an address of at most ${URL_CHARS_MAX} characters`);
  if (url.protocol !== "https:" && !(isPrivate && url.protocol === "http:")) throw refuse("must begin with https://");
  if (url.username !== "" || url.password !== "") throw refuse("must not contain a password: the signature says who posts");
  if (!isPrivate && !isPublicHost(url.hostname)) throw refuse("must be a public address");
  return url.href;
}

function hrefOf(text: string): string {
  return URL.canParse(text) ? new URL(text).href : text;
}

/** The same for the same person, event, arguments and address. It is a name, and no right. */
function idOf(
  { tenant, principal }: Caller,
  { url, name, arguments: args }: { readonly url: string; readonly name: string; readonly arguments: object },
): string {
  return `sub_${hash("sha256", canonicalJson([tenant, principal, url, name, args as JsonObject]), "base64url").slice(0, 22)}`;
}

function secretsOf(
  { seal }: SubscriptionDesk,
  known: Subscription | undefined,
  { id, secret, nowMs }: { readonly id: string; readonly secret: string; readonly nowMs: number },
): Subscription["secrets"] {
  const [before] = known?.secrets ?? [];
  const newest = { sealed: seal(id, secret) };
  return before ? [newest, { sealed: before.sealed, untilMs: nowMs + OLD_SECRET_MS }] : [newest];
}

interface Verified {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly caller: Caller;
}

/** Posts a challenge, unless this person's subscriptions are posted there already. */
async function verify({ services }: FrontEnd, desk: SubscriptionDesk, { id, url, secret, caller }: Verified): Promise<void> {
  const { subscriptions, isPrivate, limits } = desk;
  const nowMs = services.clock.now();
  const all = await subscriptions.list(nowMs);
  if (all.some((each) => each.url === url && each.caller.principal === caller.principal && each.caller.tenant === caller.tenant)) return;
  const { keyOfSecret, PACE, postTo, reasonOf } = await import("@parley/webhooks");
  const key = keyOfSecret(secret);
  if (!key) return;
  const repeated = challengesOf(desk).begin(caller, nowMs);
  if (typeof repeated === "number") {
    const message = `too many receivers that you named have not repeated their challenge within a minute (at most ${limits.own}): try again later`;
    throw new RpcFailure(EVENTS_ERRORS.ResourceExhausted, message, { limit: "challenges", max: limits.own, retryAfterMs: repeated });
  }
  const challenge = randomBytes(24).toString("base64url");
  const posted = await postTo(
    { url: new URL(url), keys: [key], isPrivate, headers: { "x-mcp-subscription-id": id } },
    { id: `msg_verification_${randomBytes(12).toString("hex")}`, body: { type: "verification", challenge } },
    { nowMs, timeoutMs: PACE.timeoutMs, signal: new AbortController().signal, readsAnswer: true },
  );
  const why = reasonOf(posted);
  const isEchoed = posted.type === "answered" && isSame(challengeIn(posted.text), challenge);
  if (why === undefined && isEchoed) return repeated();
  const reason = why === undefined ? "challenge_failed" : categoryOf(why);
  throw new RpcFailure(EVENTS_ERRORS.CallbackEndpointError, "the receiver did not repeat the challenge, so nothing is posted to it", {
    reason,
  });
}

const challengesAt = new WeakMap<SubscriptionDesk, Challenges>();

function challengesOf(desk: SubscriptionDesk): Challenges {
  const known = challengesAt.get(desk) ?? createChallenges(desk.limits.own);
  challengesAt.set(desk, known);
  return known;
}

function challengeIn(text = ""): string {
  try {
    const answer: unknown = JSON.parse(text);
    const challenge = typeof answer === "object" && answer !== null && "challenge" in answer ? answer.challenge : undefined;
    return typeof challenge === "string" ? challenge : "";
  } catch {
    return "";
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function tooMany(which: "own" | "all", { own, all }: SubscriptionLimits): RpcFailure {
  const message =
    which === "own"
      ? `you have ${own} subscriptions to events, as many as one may have (PARLEY_QUOTA_SUBSCRIPTIONS)`
      : `this deployment has ${all} subscriptions to events, as many as it takes (PARLEY_SUBSCRIPTIONS_MAX)`;
  return new RpcFailure(EVENTS_ERRORS.ResourceExhausted, message, { limit: "subscriptions", max: which === "own" ? own : all });
}

/** The later of the place and the age. */
function floorOf(from: OutboxPlace, { maxAgeMs }: Pick<SubscribeEvents, "maxAgeMs">, nowMs: number): OutboxPlace {
  if (maxAgeMs === undefined) return from;
  const oldestMs = Math.floor(nowMs - maxAgeMs);
  return from.map((place) => (Number(place.after.split("-")[0]) < oldestMs ? { after: `${oldestMs}-0`, changes: 0 } : place));
}

/** Where a new subscription begins. */
interface Begin extends Pick<Subscription, "from" | "notBeforeMs"> {
  /** Whether something is missing for a subscription that is there. */
  isTruncatedAt(place: string): Promise<boolean>;
}

async function beginHere(outbox: Outbox, intent: SubscribeEvents, nowMs: number): Promise<Begin> {
  const given = await placeOf(outbox, intent);
  const from = cursorOfPlace(floorOf(given, intent, nowMs));
  const isFloored = from !== cursorOfPlace(given);
  return { from, isTruncatedAt: async (place) => isFloored || (await outbox.read(placeOfCursor(place), 1)).isTruncated };
}

/** The upstream says what is wrong with the arguments and the cursor, and whether something is missing, before anything is written. */
async function beginThere(
  type: PassedOnType,
  { arguments: args, cursor, maxAgeMs }: SubscribeEvents,
  { known, caller, nowMs }: { readonly known: Subscription | undefined; readonly caller: Caller; readonly nowMs: number },
): Promise<Begin> {
  // A renewal must not fail because the upstream is down. What was missed is posted as a gap.
  if (known) return { ...known, isTruncatedAt: async () => false };
  const taker = takerOf(caller);
  const page = await type.poll({
    arguments: args as JsonObject,
    limit: 1,
    ...(cursor !== undefined && { cursor }),
    ...(maxAgeMs !== undefined && { maxAgeMs }),
    ...(taker && { taker }),
  });
  return {
    from: cursor ?? page.cursor ?? "",
    ...(maxAgeMs !== undefined && { notBeforeMs: nowMs - maxAgeMs }),
    isTruncatedAt: async () => page.isTruncated,
  };
}

interface State {
  readonly place?: string;
  readonly deliveredAtMs?: number;
  readonly failingSinceMs?: number;
  readonly lastError?: string;
}

function statusOf({ deliveredAtMs, failingSinceMs, lastError }: State): object {
  return {
    active: true,
    lastDeliveryAt: deliveredAtMs === undefined ? null : new Date(deliveredAtMs).toISOString(),
    lastError: lastError === undefined ? null : categoryOf(lastError),
    ...(failingSinceMs !== undefined && { failedSince: new Date(failingSinceMs).toISOString() }),
  };
}

/** One of the extension's words. Nothing that a receiver says gets back to who chose its address. */
function categoryOf(why: string): string {
  if (why === "address_refused") return "connection_refused";
  const [, status] = /^http_(\d+)$/.exec(why) ?? [];
  return status === undefined ? why : Number(status) >= 500 ? "http_5xx" : "http_4xx";
}
