/** The checks of `parley doctor` for the keys that seal content. */
import { randomBytes } from "node:crypto";
import { type Log, ParleyError } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { connectRedis, DATA_KEY_BYTES, type KeyRing, redisSettings, ringOf, toRedisSettings } from "@parley/redis";
import type { Finding } from "./run.ts";
import { counted } from "../terminal/counted.ts";

/** Maximum number of data keys to try. */
const DATA_KEYS_TRIED = 100;
/** No further data key is tried after this time: a slow service may take seconds for each. */
const DATA_KEYS_MS = 10_000;
/** An earlier check reports whether Redis responds. */
const REDIS_PATIENCE_MS = 5_000;
/** Time for all checks. One request to a service that does not respond takes half of this (packages/redis/content/kms.ts). */
const PATIENCE_MS = 30_000;
/** The encryption context of the trial, which appears in the log of the service. */
const TRIAL = "parley doctor";
const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

type Settings = ReturnType<typeof toRedisSettings>;
interface Ring {
  readonly ring: KeyRing;
  /** The key and its address; undefined for a ring from the environment or a file. */
  readonly service: string | undefined;
  /** Why the last request to the service failed. */
  readonly lastProblem: () => string | undefined;
}

/**
 * Checks that the key management service can wrap and unwrap keys, and that it or the ring can open the data keys of this deployment. Returns nothing if
 * content is not sealed.
 */
export async function contentFindings(
  given: NodeJS.ProcessEnv,
  { isRedisServing, patienceMs = PATIENCE_MS }: { readonly isRedisServing: boolean; readonly patienceMs?: number },
): Promise<Finding[]> {
  const settings = toRedisSettings(readEnvironment(redisSettings, given));
  const { contentKms, contentKmsEndpoint, contentKmsRegion } = settings;
  const { log, lastProblem } = listening();
  let ring: KeyRing | undefined;
  try {
    ring = await ringOf(settings, log);
  } catch (error) {
    return [problem(wordsOf(error), "Correct PARLEY_CONTENT_KEYS, PARLEY_CONTENT_RING or PARLEY_CONTENT_KMS, and what they name.")];
  }
  if (ring === undefined) return [];
  const service = contentKms === undefined ? undefined : `${contentKms} at ${placeOf(contentKmsEndpoint, contentKmsRegion)}`;
  const findings = findingsOf({ ring, service, lastProblem }, isRedisServing ? settings : undefined);
  return await within(findings, { ms: patienceMs, orElse: () => [tooSlow(service ?? "the key ring", patienceMs)] });
}

/** `redis` is undefined if there is none to read data keys from. */
async function findingsOf(ring: Ring, redis: Settings | undefined): Promise<Finding[]> {
  const tried = ring.service === undefined ? [] : await serviceFindings(ring, ring.service);
  if (redis === undefined || tried.some(({ level }) => level === "problem")) return tried;
  return [...tried, await dataKeysFinding(ring, redis)];
}

/** Existing data keys do not show whether the service can wrap a new one, and a new deployment has none. So this wraps and unwraps a key that is then discarded. */
async function serviceFindings({ ring, lastProblem }: Ring, service: string): Promise<Finding[]> {
  try {
    const dataKey = randomBytes(DATA_KEY_BYTES);
    const opened = await ring.unwrap(await ring.wrap(dataKey, TRIAL), TRIAL);
    if (opened === undefined) throw new ParleyError("CONTENT_KEY_MISSING", lastProblem() ?? "the key management service does not unwrap");
    if (!opened.equals(dataKey)) {
      const says = `${service}: the key management service unwraps a data key to a different value than it wrapped`;
      return [problem(says, "Content that it seals could not be read again: correct PARLEY_CONTENT_KMS_ENDPOINT.")];
    }
  } catch (error) {
    return [refusedBy(service, error)];
  }
  const wraps: Finding = { level: "fine", about, says: `${service} wraps and unwraps data keys` };
  try {
    await ring.currentKeyId();
    return [wraps];
  } catch (error) {
    if (!isRefusal(error)) return [refusedBy(service, error)];
    const cure = "Allow kms:DescribeKey, which `parley content rotate` needs.";
    return [wraps, { level: "advice", about, says: `${service}: ${wordsOf(error)}`, cure }];
  }
}

async function dataKeysFinding({ ring, service, lastProblem }: Ring, settings: Settings): Promise<Finding> {
  try {
    const backend = await connectRedis({ ...settings, startTimeoutMs: REDIS_PATIENCE_MS }, { log: SILENT, keyRing: ring });
    try {
      const { open = 0, lacking = 0 } = (await backend.content.keys?.tryKeys(DATA_KEYS_TRIED, DATA_KEYS_MS)) ?? {};
      if (open + lacking === 0) return { level: "fine", about, says: "no data keys yet: nothing has been sealed" };
      const tried = counted(open + lacking, "data key");
      if (lacking === 0) return { level: "fine", about, says: `${tried} tried, and all of them open` };
      const why = lastProblem();
      return problem(
        `the key that wrapped ${lacking} of ${tried} is not here: tasks that were sealed with them wait${why === undefined ? "" : ` (${why})`}`,
        "Put the earlier key back behind the first one of the ring, or enable it at the key management service (docs/encryption.md).",
      );
    } finally {
      await backend.close();
    }
  } catch (error) {
    return service === undefined ? problem(wordsOf(error), "Run `parley doctor` again.") : refusedBy(service, error);
  }
}

const about = "content keys";

function problem(says: string, cure: string): Finding {
  return { level: "problem", about, says, cure };
}

/** Whether the service responds but refuses: a retry is useless until an operator acts. */
const isRefusal = (error: unknown) => error instanceof ParleyError && error.code === "CONTENT_KEY_MISSING";

/** Errors of the ring contain neither an address nor the data that was sent (packages/redis/content/kms.ts). */
function refusedBy(service: string, error: unknown): Finding {
  return problem(
    `${service}: ${wordsOf(error)}`,
    isRefusal(error)
      ? "Correct PARLEY_CONTENT_KMS, or enable the key and allow kms:Encrypt, kms:Decrypt and kms:DescribeKey for it (docs/encryption.md)."
      : "Start it, or correct PARLEY_CONTENT_KMS_ENDPOINT, PARLEY_CONTENT_KMS_REGION and the credentials (docs/encryption.md).",
  );
}

function tooSlow(what: string, patienceMs: number): Finding {
  return problem(
    `${what}: not checked within ${patienceMs / 1_000} s`,
    "Find out why it is slow: every process that starts waits for it before it can open sealed content (docs/encryption.md).",
  );
}

/** Only the origin of an address: the rest may contain a password. */
function placeOf(endpoint: string | undefined, region: string): string {
  return endpoint === undefined ? `AWS KMS in ${region}` : new URL(endpoint).origin;
}

/** A log that keeps the last problem: the reason why a service cannot open a data key is only logged. */
function listening(): { readonly log: Log; readonly lastProblem: () => string | undefined } {
  let last: string | undefined;
  const keepProblem = (fields: object) => {
    if ("problem" in fields && typeof fields.problem === "string") last = fields.problem;
  };
  return { log: { ...SILENT, warn: keepProblem, error: keepProblem }, lastProblem: () => last };
}

const wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function within<T>(work: Promise<T>, { ms, orElse }: { readonly ms: number; readonly orElse: () => T }): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((done) => {
    timer = setTimeout(() => done(orElse()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
