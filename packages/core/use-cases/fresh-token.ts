/**
 * An access token of what a person granted, for a step that calls the provider's service:
 *
 *   deposit ─▶ good for another minute? ─▶ the token
 *                  │ no, or the service refused it
 *                  ▼
 *   claim, for all workers ─▶ read again: renewed meanwhile? ─▶ the token
 *                  │ no
 *                  ▼
 *   provider: refresh ─▶ deposit replaced ─▶ the token
 *
 * A refresh token may be good for one use, and a provider that sees it twice may end the whole grant (RFC 9700, 4.14). So one refresh is at work at a
 * time: in this process by the promise that others share, between processes by a claim. A token is in no journal, log or error.
 */
import { describeError } from "../describe-error.ts";
import { ParleyError } from "../errors.ts";
import { type GrantedTokens, readTokens } from "../granted-tokens.ts";
import type { Services } from "./services.ts";

export interface FreshToken {
  readonly taskId: string;
  readonly key: string;
  /** A token that the service refused, even if it has not expired. */
  readonly refused?: string | undefined;
}

/** A token that ends sooner may end on its way. */
const MARGIN_MS = 60_000;
/** Longer than any refresh takes: who dies with the claim holds up others for so long. */
const CLAIM_MS = 30_000;
/** How long others wait for the one that refreshes. */
const PATIENCE_MS = 20_000;
const LOOK_EVERY_MS = 100;

/** Refreshes at work in this process. */
const refreshing = new WeakMap<object, Map<string, Promise<GrantedTokens>>>();

/** Throws GRANT_EXPIRED, DEPOSIT_UNREADABLE, OAUTH_UNAVAILABLE, PROVIDER_UNAVAILABLE and PROVIDER_INVALID. */
export async function freshToken(services: Services, wanted: FreshToken): Promise<string> {
  const { tokens } = await deposited(services, wanted);
  if (isGood(services, tokens, wanted.refused)) return tokens.accessToken;
  const shared = refreshing.get(services) ?? new Map<string, Promise<GrantedTokens>>();
  refreshing.set(services, shared);
  const name = `${wanted.taskId} ${wanted.key}`;
  const work = shared.get(name) ?? refreshInTurn(services, wanted, tokens).finally(() => shared.delete(name));
  shared.set(name, work);
  return (await work).accessToken;
}

function isGood({ clock }: Services, { accessToken, expiresAtMs = Infinity }: GrantedTokens, refused: string | undefined): boolean {
  return accessToken !== refused && expiresAtMs - clock.now() > MARGIN_MS;
}

async function deposited({ deposits }: Services, { taskId, key }: FreshToken): Promise<{ text: string; tokens: GrantedTokens }> {
  if (!deposits) throw new ParleyError("DEPOSIT_UNREADABLE", "this worker reads nothing that was left on pages");
  const text = await deposits.open(taskId, key);
  return { text, tokens: readTokens(key, text) };
}

/** `stale`: what was found not to be good. Another one, which somebody has fetched meanwhile, is taken as it is. */
async function refreshInTurn(services: Services, wanted: FreshToken, stale: GrantedTokens): Promise<GrantedTokens> {
  const { claims, clock, ids } = services;
  const name = `refresh ${wanted.taskId} ${wanted.key}`;
  const holder = ids.uuid();
  const untilMs = clock.now() + PATIENCE_MS;
  // Without claims there is no other process.
  while (claims && !(await claims.take(name, holder, CLAIM_MS))) {
    const { tokens } = await deposited(services, wanted);
    if (tokens.accessToken !== stale.accessToken) return tokens;
    if (clock.now() >= untilMs) throw new ParleyError("PROVIDER_UNAVAILABLE", "another worker has been refreshing the token for too long");
    await clock.sleep(LOOK_EVERY_MS);
  }
  try {
    return await refresh(services, wanted, stale);
  } finally {
    // It ends by itself otherwise.
    await claims?.release(name, holder).catch(() => undefined);
  }
}

async function refresh(services: Services, wanted: FreshToken, stale: GrantedTokens): Promise<GrantedTokens> {
  const { deposits, oauth, clock, log } = services;
  const { taskId, key, refused } = wanted;
  const { text, tokens } = await deposited(services, wanted);
  if (tokens.accessToken !== stale.accessToken) return tokens;
  const { provider, expiresAtMs = Infinity } = tokens;
  const isStillGood = tokens.accessToken !== refused && expiresAtMs > clock.now();
  if (!oauth || tokens.refreshToken === undefined) {
    if (isStillGood) return tokens;
    throw new ParleyError("GRANT_EXPIRED", `the access to ${provider} that was granted has ended, and ${provider} gave no refresh token`);
  }
  let renewed: GrantedTokens;
  try {
    renewed = await oauth.refresh(tokens);
  } catch (error) {
    log.warn({ taskId, key, provider, ...describeError(error) }, "token not refreshed");
    if (isStillGood && error instanceof ParleyError && error.code !== "GRANT_EXPIRED") return tokens;
    throw error;
  }
  const isKept = await deposits?.replace(taskId, key, text, JSON.stringify(renewed));
  log.info({ taskId, key, provider, kept: isKept === true }, "token refreshed");
  return renewed;
}
