/**
 * An access token from a person's grant, for a step that calls the provider's service:
 *
 *   deposit ─▶ valid for another minute? ─▶ the token
 *                  │ no, or the service refused it
 *                  ▼
 *   claim, across workers ─▶ read again: renewed in the meantime? ─▶ the token
 *                  │ no
 *                  ▼
 *   provider: refresh ─▶ deposit replaced ─▶ the token
 *
 * A refresh token may be valid for one use only, and a provider that sees it twice may revoke the whole grant (RFC
 * 9700, 4.14). So there is one refresh at a time: concurrent steps of a process share a promise, and processes
 * exclude each other with a claim. Tokens appear in no journal, log or error.
 */
import { describeError } from "../describe-error.ts";
import { ParleyError } from "../errors.ts";
import { type GrantedTokens, readTokens } from "../granted-tokens.ts";
import type { Services } from "./services.ts";

export interface FreshToken {
  readonly taskId: string;
  readonly key: string;
  /** A token that the service refused, even though it has not expired. */
  readonly refused?: string | undefined;
}

/** A token that expires sooner may expire before it is used. */
const MARGIN_MS = 60_000;
/** Longer than any refresh takes. A process that dies with the claim delays others by this long. */
const CLAIM_MS = 30_000;
/** How long other processes wait for a refresh. */
const PATIENCE_MS = 20_000;
const LOOK_EVERY_MS = 100;

/** Refreshes in progress in this process. */
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

/** `stale` is the token that is not valid. If the deposit holds a different one by now, that one is used. */
async function refreshInTurn(services: Services, wanted: FreshToken, stale: GrantedTokens): Promise<GrantedTokens> {
  const { claims, clock, ids } = services;
  const name = `refresh ${wanted.taskId} ${wanted.key}`;
  const holder = ids.uuid();
  const untilMs = clock.now() + PATIENCE_MS;
  // Without claims there is only this process.
  while (claims && !(await claims.take(name, holder, CLAIM_MS))) {
    const { tokens } = await deposited(services, wanted);
    if (tokens.accessToken !== stale.accessToken) return tokens;
    if (clock.now() >= untilMs) throw new ParleyError("PROVIDER_UNAVAILABLE", "another worker has been refreshing the token for too long");
    await clock.sleep(LOOK_EVERY_MS);
  }
  try {
    return await refresh(services, wanted, stale);
  } finally {
    // A claim that is not released expires.
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
