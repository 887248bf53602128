/** Identity and encryption for a run whose keys are rotated under load, as operators rotate them. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectRedis } from "@parley/redis";
import { KEYS_PATH, METADATA_PATH, OPENID_PATH, startIssuer } from "../support/issuer.ts";

export interface Guard {
  /** Of every front end and worker. */
  readonly env: Readonly<Record<string, string>>;
  /** What a client sends at this moment, as one of the people, or as everybody. */
  token(who?: string): string;
  /** The provider publishes a key, and signs with it once nobody's list of keys can be older. */
  rotateSigningKeys(): Promise<void>;
  /** A new key comes first in the ring, all data keys are wrapped by it, the old key goes. Waits for a Redis that is away. */
  rotateContentKeys(redis: { readonly url: string; readonly prefix: string; readonly partitions: number }): Promise<void>;
  /** The provider answers nothing but errors for so long. */
  providerOutage(forMs: number): Promise<void>;
  close(): Promise<void>;
}

const PUBLIC_URL = "http://chaos.example";
const PATHS = [KEYS_PATH, METADATA_PATH, OPENID_PATH];
const COOLDOWN_MS = 1_000;
/** A day: what ends meanwhile is the business of other tests. */
const TOKEN_S = 24 * 60 * 60;
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** `people`: what the tokens of each say besides who it is. */
export async function startGuard(directory: string, people: Readonly<Record<string, object>> = {}): Promise<Guard> {
  const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
  const exp = () => Math.floor(Date.now() / 1_000) + TOKEN_S;
  const signed = async () => ({
    everybody: await issuer.token({ exp: exp() }),
    of: new Map(
      await Promise.all(
        Object.entries(people).map(async ([sub, claims]) => [sub, await issuer.token({ sub, ...claims, exp: exp() })] as const),
      ),
    ),
  });
  const ringFile = join(directory, "ring");
  let key = newKey();
  let tokens = await signed();
  await writeFile(ringFile, key);
  return {
    env: {
      PARLEY_AUTH: "required",
      PARLEY_AUTH_ISSUERS: issuer.url,
      PARLEY_AUTH_GROUPS_CLAIM: "groups",
      PARLEY_AUTH_KEYS_COOLDOWN: `${COOLDOWN_MS}ms`,
      PARLEY_PUBLIC_URL: PUBLIC_URL,
      PARLEY_CONTENT_RING: ringFile,
      // All people are one caller here.
      PARLEY_QUOTA_CALLS: "1000000",
      PARLEY_QUOTA_READS: "1000000",
      PARLEY_QUOTA_ANSWERS: "1000000",
      PARLEY_QUOTA_TASKS: "1000000",
    },
    token: (who) => (who === undefined ? tokens.everybody : (tokens.of.get(who) ?? "")),
    async rotateSigningKeys() {
      await issuer.rotate();
      const next = await signed();
      await sleep(COOLDOWN_MS * 1.5);
      tokens = next;
    },
    async rotateContentKeys({ url, prefix, partitions }) {
      const next = newKey();
      await writeFile(ringFile, `${next}\n${key}`);
      for (;;) {
        if (await wrapAnew({ url, prefix, partitions })) break;
        await sleep(500);
      }
      await writeFile(ringFile, next);
      key = next;
    },
    async providerOutage(forMs) {
      for (const path of PATHS) issuer.answer(path, (_request, response) => response.writeHead(503).end());
      await sleep(forMs);
      for (const path of PATHS) issuer.answer(path, undefined);
    },
    close: () => issuer.close(),
  };

  /** False where it has to be done again. */
  async function wrapAnew(of: { readonly url: string; readonly prefix: string; readonly partitions: number }): Promise<boolean> {
    try {
      const backend = await connectRedis({ ...of, commandTimeoutMs: 1_000, contentRing: ringFile }, { log: silent });
      try {
        return (await backend.content.keys?.wrapAnew())?.lacking === 0;
      } finally {
        await backend.close();
      }
    } catch {
      return false;
    }
  }
}

function newKey(): string {
  return randomBytes(32).toString("base64");
}
