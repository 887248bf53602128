/**
 * An access token from a person's grant, for a step that calls the provider's service. The tokens are a deposit of the
 * task, or a kept grant that all tasks of the principal share (kept-grants.ts):
 *
 *   tokens ─▶ valid for another minute? ─▶ the token
 *                  │ no, or the service refused it
 *                  ▼
 *   claim, across workers ─▶ read again: renewed in the meantime? ─▶ the token
 *                  │ no
 *                  ▼
 *   provider: refresh ─▶ stored tokens replaced ─▶ the token
 *
 * A refresh token may be valid for one use only, and a provider that sees it twice may revoke the whole grant (RFC
 * 9700, 4.14). So there is one refresh at a time: concurrent steps of a process share a promise, and processes
 * exclude each other with a claim. Tokens appear in no journal, log or error.
 */
import { describeError } from "../task/describe-error.ts";
import { ParleyError } from "../errors.ts";
import { type GrantedTokens, readTokens } from "../callers/granted-tokens.ts";
import type { GrantRef } from "../callers/kept-grants.ts";
import type { Services } from "./services.ts";
import { whileAway } from "./retry-through-outage.ts";

export interface FreshToken {
  readonly taskId: string;
  readonly key: string;
  /** A token that the service refused, even though it has not expired. */
  readonly refused?: string | undefined;
}

export interface KeptToken extends GrantRef {
  /** How long the grant is kept after this use. */
  readonly ttlMs: number;
  /** As in FreshToken. */
  readonly refused?: string | undefined;
}

/** A token that expires sooner may expire before it is used. */
const MARGIN_MS = 60_000;
/** Longer than any refresh takes. A process that dies with the claim delays others by this long. */
const CLAIM_MS = 30_000;
/** How long other processes wait for a refresh. Longer than a claim, so that one of them takes over from a process that died. */
const PATIENCE_MS = 40_000;
const LOOK_EVERY_MS = 100;

/** Where the tokens of a grant are stored. */
interface Home {
  /** The same in all processes. Claims use it. */
  readonly name: string;
  /** For the log. */
  readonly facts: Readonly<Record<string, string>>;
  /** Throws if there are no tokens. */
  read(): Promise<FoundTokens>;
}

interface FoundTokens {
  readonly tokens: GrantedTokens;
  /** Returns false if other tokens are stored by now, or none. */
  replace(text: string): Promise<boolean>;
  /** The provider has ended the grant. */
  ended?(): Promise<void>;
}

/** Refreshes in progress in this process. */
const refreshing = new WeakMap<object, Map<string, Promise<GrantedTokens>>>();

/** Throws GRANT_EXPIRED, DEPOSIT_UNREADABLE, OAUTH_UNAVAILABLE, PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
export async function freshToken(services: Services, { taskId, key, refused }: FreshToken): Promise<string> {
  return await freshAt(services, depositOf(services, taskId, key), refused);
}

/** The same for a kept grant. GRANT_EXPIRED if there is none. A grant that the provider has ended is removed before GRANT_EXPIRED is thrown. */
export async function keptToken(services: Services, { refused, ...wanted }: KeptToken): Promise<string> {
  return await freshAt(services, keptAt(services, wanted), refused);
}

function depositOf({ deposits }: Services, taskId: string, key: string): Home {
  return {
    name: `${taskId} ${key}`,
    facts: { taskId, key },
    async read() {
      if (!deposits) throw new ParleyError("DEPOSIT_UNREADABLE", "this worker cannot read the deposits of pages");
      const text = await deposits.open(taskId, key);
      return { tokens: readTokens(key, text), replace: (renewed) => deposits.replace(taskId, key, text, renewed) };
    },
  };
}

function keptAt(services: Services, { ttlMs, ...ref }: Omit<KeptToken, "refused">): Home {
  const { grants } = services;
  return {
    name: `grant ${ref.tenant ?? ""} ${ref.id} ${ref.principal}`,
    facts: { grant: ref.id },
    async read() {
      const found = await whileAway(services, async () => await grants?.use(ref, { ttlMs }));
      if (!grants || !found) throw new ParleyError("GRANT_EXPIRED", "the access that was granted is no longer kept");
      return {
        tokens: readTokens("grant", found.text),
        replace: (renewed) => grants.replace(ref, found, renewed),
        ended: () => whileAway(services, () => grants.remove(ref, found.consent, "ended")),
      };
    },
  };
}

async function freshAt(services: Services, home: Home, refused: string | undefined): Promise<string> {
  const { tokens } = await home.read();
  if (isGood(services, tokens, refused)) return tokens.accessToken;
  const shared = refreshing.get(services) ?? new Map<string, Promise<GrantedTokens>>();
  refreshing.set(services, shared);
  const work = shared.get(home.name) ?? refreshInTurn(services, home, { stale: tokens, refused }).finally(() => shared.delete(home.name));
  shared.set(home.name, work);
  return (await work).accessToken;
}

function isGood({ clock }: Services, { accessToken, expiresAtMs = Infinity }: GrantedTokens, refused: string | undefined): boolean {
  return accessToken !== refused && expiresAtMs - clock.now() > MARGIN_MS;
}

/** `stale` are the tokens that are not valid. If different ones are stored by now, those are used. */
interface Stale {
  readonly stale: GrantedTokens;
  readonly refused: string | undefined;
}

async function refreshInTurn(services: Services, home: Home, found: Stale): Promise<GrantedTokens> {
  const { claims, clock, ids } = services;
  const name = `refresh ${home.name}`;
  const holder = ids.uuid();
  const untilMs = clock.now() + PATIENCE_MS;
  // Without claims there is only this process.
  while (claims && !(await claims.take(name, holder, CLAIM_MS))) {
    const { tokens } = await home.read();
    if (tokens.accessToken !== found.stale.accessToken) return tokens;
    if (clock.now() >= untilMs) throw new ParleyError("PROVIDER_UNAVAILABLE", "another worker has been refreshing the token for too long");
    await clock.sleep(LOOK_EVERY_MS);
  }
  try {
    return await refresh(services, home, found);
  } finally {
    // A claim that is not released expires.
    await claims?.release(name, holder).catch(() => undefined);
  }
}

async function refresh(services: Services, home: Home, { stale, refused }: Stale): Promise<GrantedTokens> {
  const { oauth, clock, log } = services;
  const { tokens, replace, ended } = await home.read();
  if (tokens.accessToken !== stale.accessToken) return tokens;
  const { provider, expiresAtMs = Infinity } = tokens;
  const facts = { ...home.facts, provider };
  const isStillGood = tokens.accessToken !== refused && expiresAtMs > clock.now();
  if (!oauth || tokens.refreshToken === undefined) {
    if (isStillGood) return tokens;
    await ended?.();
    throw new ParleyError("GRANT_EXPIRED", `the access to ${provider} that was granted has ended, and ${provider} gave no refresh token`);
  }
  let renewed: GrantedTokens;
  try {
    renewed = await oauth.refresh(tokens);
  } catch (error) {
    log.warn({ ...facts, ...describeError(error) }, "token not refreshed");
    if (isStillGood && error instanceof ParleyError && error.code !== "GRANT_EXPIRED") return tokens;
    if (isOver(error)) await ended?.();
    throw error;
  }
  const isKept = await whileAway(services, () => replace(JSON.stringify(renewed)));
  log.info({ ...facts, kept: isKept }, "token refreshed");
  return renewed;
}

/**
 * Only `invalid_grant` means that the grant has ended (RFC 6749, 5.2). The operator can fix the others, such as an
 * unknown client, and the grant is still valid then.
 */
function isOver(error: unknown): boolean {
  return error instanceof ParleyError && error.code === "GRANT_EXPIRED" && error.data?.["reason"] === "invalid_grant";
}
