/**
 * Access to an upstream in the caller's name: before the call, the caller grants an access token of their own on one of
 * Parley's pages (docs/pages.md).
 *
 *   kept from an earlier task? ─▶ granted ─▶ a token for each request, renewed before it expires or when it is refused
 *        │ no                        ▲            └▶ cannot be renewed, or refused twice ─▶ removed; start again, a few times
 *        └──────▶ ask ───────────────┘
 *
 * A task keeps the course on which it began: what `oauth` in the file says later is for what it asks then. So a call that
 * began without access goes on without it, and one that began with it goes on with the access that was granted.
 *
 * The token that the caller sent to Parley goes to no upstream. The grant is sealed and stored with the task or, with
 * `keep` in the file of upstreams, for later tasks of the same principal at the same upstream. Tokens appear in no
 * journal, log or error.
 */
import { hash } from "node:crypto";
import { type Answer, type Effects, type GrantKeeping, ParleyError, ToolError } from "@parley/core";
import type { Upstream, UpstreamOauth } from "../config/upstreams.ts";

export interface Access {
  /** Asks the caller, unless there is a kept grant. Throws ToolError if they do not consent, and CAPABILITY_REQUIRED and GRANT_EXPIRED. */
  ask(): Promise<void>;
  /** For a step: a token that is valid now. Undefined: the grant has ended. Throws PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
  token(): Promise<string | undefined>;
  /** The upstream refused the last token. Resolves when another one can be tried. Throws as `ask`. */
  refused(): Promise<void>;
}

export interface AccessOptions {
  readonly upstream: Pick<Upstream, "name" | "reached">;
  /** As the file says now. Undefined: it did when the task began, and does no more. */
  readonly oauth: UpstreamOauth | undefined;
  /** What is called, for people: `tool search of upstream crm`. */
  readonly what: string;
  readonly timeoutMs: number;
}

const PATCH = "kept-grants";
/** One of these is the first entry of a task whose call needs access. The first of any other is its permit. */
const BEGUN_WITH = ["ask:authorize", "step:access", `patch:${PATCH}`];
const PERMIT = "step:open";
/** How many times one task asks for access. Without a limit, a provider whose tokens expire at once would make it ask forever. */
const ASKS_MAX = 3;

/** Where the tokens are: in a deposit of the task, or in a kept grant. */
type Granted = { readonly deposit: string } | { readonly keep: GrantKeeping; readonly consent: string };

/** Whether the calls of the task carry its caller's token: as the file said when it began. */
export function needsAccess({ wasRecorded }: Pick<Effects, "wasRecorded">, oauth: UpstreamOauth | undefined): boolean {
  return BEGUN_WITH.some(wasRecorded) || (oauth !== undefined && !wasRecorded(PERMIT));
}

export function createAccess(effects: Effects, { upstream, oauth, what, timeoutMs }: AccessOptions): Access {
  const { accessToken, kept } = effects;
  let granted: Granted | undefined;
  let last: string | undefined;
  let isRefused = false;
  /** How many times access was looked for, and asked for. */
  let looks = 0;
  let asks = 0;
  let refusals = 0;

  /**
   * How the grant is kept, and the current consent. Recorded, because `keep` may be added to the file of upstreams or
   * removed before the next run, and the task must then take the same course again.
   */
  async function findKept(why: "first" | "ended" | "refused"): Promise<{ readonly keep?: GrantKeeping; readonly consent?: string }> {
    if (!(oauth?.keepMs === undefined ? effects.tookPatch(PATCH) : effects.patched(PATCH))) return {};
    const before = granted && "consent" in granted ? granted : undefined;
    const found = await effects.step("access", async () => {
      if (!kept || oauth?.keepMs === undefined) return {};
      const { keepMs } = oauth;
      const keep = { id: grantId(upstream, oauth), upstream: upstream.name, ttlMs: keepMs };
      if (before && why === "refused") await kept.refuse(before.keep.id, before.consent);
      const consent = await kept.find(keep.id, { ttlMs: keepMs, not: before?.consent });
      return { keep, ...(consent !== undefined && { consent }) };
    });
    return found as Awaited<ReturnType<typeof findKept>>;
  }

  async function ask(why: "first" | "ended" | "refused"): Promise<void> {
    if (looks === ASKS_MAX)
      throw new ParleyError("GRANT_EXPIRED", `${what}: access was granted ${ASKS_MAX} times, and ended or was refused each time`);
    looks += 1;
    isRefused = false;
    const { keep, consent } = await findKept(why);
    if (keep && consent !== undefined) {
      granted = { keep, consent };
      return;
    }
    asks += 1;
    const wasAsked = effects.wasRecorded(asks === 1 ? "ask:authorize" : `ask:authorize#${asks}`);
    // What was asked before is the same question, with the page that it had then.
    const { provider, scopes } = wasAsked ? (oauth ?? { provider: "", scopes: [] }) : askable();
    const message = `The ${what} works with your own account at ${provider}. Log in there and allow it.${keep ? keptFor(keep.ttlMs) : ""}`;
    const page = { kind: "oauth" as const, provider, scopes, ...(keep && { keep }) };
    const answer = await effects.ask("authorize", { type: "url", message, url: "", page }, { timeoutMs, identity: "any" });
    granted = grantedBy(answer, { what, keep });
  }

  /** Where to ask for access now. */
  function askable(): UpstreamOauth {
    if (!oauth)
      throw new ParleyError("GRANT_EXPIRED", `${what}: its access has ended, and the file of upstreams has no oauth for it any more`);
    if (!accessToken) throw new ParleyError("OAUTH_UNAVAILABLE", `${what} needs access at ${oauth.provider}, and PARLEY_OAUTH is not set`);
    return oauth;
  }

  async function fresh(refused: string | undefined): Promise<string | undefined> {
    if (granted && "consent" in granted) return await kept?.token(granted.keep.id, { ttlMs: granted.keep.ttlMs, refused });
    return await accessToken?.(granted?.deposit ?? "", refused);
  }

  return {
    ask: () => ask(granted ? "ended" : "first"),
    async token() {
      try {
        const refused = isRefused ? last : undefined;
        // The next token counts as valid until it is refused itself.
        isRefused = false;
        last = await fresh(refused);
        return last;
      } catch (error) {
        if (error instanceof ParleyError && error.code === "GRANT_EXPIRED") return undefined;
        throw error;
      }
    },
    async refused() {
      refusals += 1;
      // The first time, the token may be old. The second time, the grant may be revoked, or its account may lack permissions.
      if (refusals % 2 === 0) await ask("refused");
      else isRefused = true;
    },
  };
}

/** A different upstream, address, provider or set of scopes is a different grant. */
export function grantId({ name, reached }: AccessOptions["upstream"], { provider, scopes }: UpstreamOauth): string {
  const digest = hash("sha256", JSON.stringify([name, reached.by === "url" ? reached.url : "", provider, scopes]), "base64url");
  // `parley grants revoke` would take it for an option.
  return digest.slice(0, 22).replace(/^-/, "_");
}

const HOUR_MS = 60 * 60_000;

function keptFor(ms: number): string {
  const [count, unit] =
    ms >= 48 * HOUR_MS ? [ms / (24 * HOUR_MS), "days"] : ms >= 2 * HOUR_MS ? [ms / HOUR_MS, "hours"] : [ms / 60_000, "minutes"];
  return ` Your later calls use the same access, until none has used it for ${Math.round(count)} ${unit}.`;
}

function grantedBy(answer: Answer, { what, keep }: { readonly what: string; readonly keep: GrantKeeping | undefined }): Granted {
  if (answer.action === "unavailable") {
    const message = `The ${what} sends the user to a page, and this client cannot be asked that. Call it from a client that declares the capability elicitation.url and accepts event streams.`;
    throw new ParleyError("CAPABILITY_REQUIRED", message, { data: { requiredCapabilities: { elicitation: { url: {} } } } });
  }
  const { deposit, consent } = (answer.action === "accept" ? answer.content : undefined) ?? {};
  if (keep && typeof consent === "string") return { keep, consent };
  if (typeof deposit === "string") return { deposit };
  throw new ToolError(`The ${what} was not called: access was not granted (${answer.action}).`);
}
