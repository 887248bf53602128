/** Access tokens for steps: when they are renewed, by whom, and what is said when they cannot be. */
import { describe, expect, test } from "vitest";
import { ParleyError } from "../errors.ts";
import type { GrantedTokens } from "../granted-tokens.ts";
import { createMemoryClaims } from "../memory/index.ts";
import { freshToken } from "./fresh-token.ts";
import type { Services } from "./services.ts";

const NOW_MS = 1_000_000;
const GRANT: GrantedTokens = { provider: "calendar", accessToken: "old", refreshToken: "r1", scopes: [], expiresAtMs: NOW_MS + 30_000 };

/** Workers that share what is stored, and one provider. */
function deployed(grant: Partial<GrantedTokens> = {}, refresh?: (tokens: GrantedTokens) => Promise<GrantedTokens>) {
  const stored = { text: JSON.stringify({ ...GRANT, ...grant }) as string | undefined };
  const seen: string[] = [];
  const logged: string[] = [];
  let nowMs = NOW_MS;
  const clock = {
    now: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const claims = createMemoryClaims({ clock });
  let drawn = 0;
  const log = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const worker = (): Services =>
    ({
      clock,
      claims,
      ids: { uuid: () => `holder ${(drawn += 1)}` },
      log: { debug: log, info: log, warn: log, error: log },
      deposits: {
        async open() {
          if (stored.text === undefined) throw new ParleyError("DEPOSIT_UNREADABLE", "gone");
          return stored.text;
        },
        async replace(_taskId: string, _key: string, before: string, text: string) {
          if (stored.text !== before) return false;
          stored.text = text;
          return true;
        },
      },
      oauth: {
        async refresh(tokens: GrantedTokens) {
          seen.push(tokens.refreshToken ?? "");
          // Others have their turn meanwhile.
          for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          if (refresh) return await refresh(tokens);
          return { ...tokens, accessToken: `new ${seen.length}`, refreshToken: `r${seen.length + 1}`, expiresAtMs: nowMs + 600_000 };
        },
      },
    }) as unknown as Services;
  return { stored, seen, logged, worker, claims, wanted: { taskId: "0-task", key: "calendar" } };
}

describe("a token", () => {
  test("that is good for more than a minute, or for as long as nobody says, is taken as it is", async () => {
    for (const expiresAtMs of [NOW_MS + 60_001, undefined]) {
      const { worker, wanted, seen, stored } = deployed();
      stored.text = JSON.stringify({ ...GRANT, expiresAtMs });
      expect([await freshToken(worker(), wanted), seen]).toEqual(["old", []]);
    }
    const { worker, wanted, seen } = deployed({ expiresAtMs: NOW_MS + 60_000 });
    expect([await freshToken(worker(), wanted), seen]).toEqual(["new 1", ["r1"]]);
  });

  test("is renewed once by those who ask at once, in one worker and in several", async () => {
    const { worker, wanted, seen, stored } = deployed();
    const [here, there] = [worker(), worker()];
    const tokens = await Promise.all([here, here, there, there].map((services) => freshToken(services, wanted)));
    expect([tokens, seen]).toEqual([["new 1", "new 1", "new 1", "new 1"], ["r1"]]);
    expect(JSON.parse(stored.text ?? "")).toMatchObject({ accessToken: "new 1", refreshToken: "r2" });
  });

  test("that was refused is renewed regardless of its time, unless it has been meanwhile", async () => {
    const { worker, wanted, seen } = deployed({ expiresAtMs: NOW_MS + 600_000 });
    const services = worker();
    expect(await freshToken(services, { ...wanted, refused: "old" })).toBe("new 1");
    expect(await freshToken(services, { ...wanted, refused: "old" })).toBe("new 1");
    expect(seen).toEqual(["r1"]);
  });

  test("is still used while it lasts, when the provider is away or gave no means to renew it", async () => {
    const away = deployed({}, () => Promise.reject(new ParleyError("PROVIDER_UNAVAILABLE", "no answer")));
    expect(await freshToken(away.worker(), away.wanted)).toBe("old");
    const without = deployed();
    without.stored.text = JSON.stringify({ ...GRANT, refreshToken: undefined });
    expect(await freshToken(without.worker(), without.wanted)).toBe("old");
  });

  test.each([
    ["it has expired and the provider is away", { expiresAtMs: NOW_MS }, "PROVIDER_UNAVAILABLE", "PROVIDER_UNAVAILABLE"],
    ["the provider ended the access", {}, "GRANT_EXPIRED", "GRANT_EXPIRED"],
    ["it has expired without means to renew it", { expiresAtMs: NOW_MS, refreshToken: undefined }, undefined, "GRANT_EXPIRED"],
  ] as const)("is none when %s, and the next one may try again", async (_what, grant, thrown, code) => {
    const { worker, wanted, logged, claims, stored } = deployed({}, () => Promise.reject(new ParleyError(thrown ?? "GRANT_EXPIRED", "no")));
    stored.text = JSON.stringify({ ...GRANT, ...grant });
    await expect(freshToken(worker(), wanted)).rejects.toMatchObject({ code });
    expect(await claims.take("refresh 0-task calendar", "the next one", 1)).toBe(true);
    expect(logged.join()).not.toMatch(/old|r1/);
  });

  test("is not waited for forever while somebody else renews it, and is taken when it comes", async () => {
    const { worker, wanted, claims, stored } = deployed({ expiresAtMs: NOW_MS });
    await claims.take("refresh 0-task calendar", "a worker that hangs", 25_000);
    await expect(freshToken(worker(), wanted)).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    const waiting = freshToken(worker(), wanted);
    stored.text = JSON.stringify({ ...GRANT, accessToken: "theirs", expiresAtMs: NOW_MS + 900_000 });
    expect(await waiting).toBe("theirs");
  });

  test("of a task that has ended meanwhile is handed over, and kept nowhere", async () => {
    const { worker, wanted, stored } = deployed({}, async (tokens) => {
      stored.text = undefined;
      return { ...tokens, accessToken: "last" };
    });
    expect([await freshToken(worker(), wanted), stored.text]).toEqual(["last", undefined]);
    await expect(freshToken(worker(), wanted)).rejects.toMatchObject({ code: "DEPOSIT_UNREADABLE" });
  });

  test("is never a secret that somebody entered", async () => {
    for (const text of ["hunter2", "{}", "null"]) {
      const { worker, wanted, stored } = deployed();
      stored.text = text;
      const error: unknown = await freshToken(worker(), wanted).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "DEPOSIT_UNREADABLE", message: expect.not.stringContaining("hunter2") });
    }
  });
});
