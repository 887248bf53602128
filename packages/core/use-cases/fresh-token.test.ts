/** Access tokens for steps: when they are renewed, by which worker, and the errors if they cannot be. */
import { describe, expect, test } from "vitest";
import { ParleyError } from "../errors.ts";
import type { GrantedTokens } from "../callers/granted-tokens.ts";
import { createMemoryClaims } from "../memory/index.ts";
import type { GrantRef, KeptGrant, KeptGrants } from "../callers/kept-grants.ts";
import { freshToken, keptToken } from "./fresh-token.ts";
import type { Services } from "./services.ts";

const NOW_MS = 1_000_000;
const GRANT: GrantedTokens = { provider: "calendar", accessToken: "old", refreshToken: "r1", scopes: [], expiresAtMs: NOW_MS + 30_000 };

/** Workers that share a store and a provider. */
function deployed(grant: Partial<GrantedTokens> = {}, refresh?: (tokens: GrantedTokens) => Promise<GrantedTokens>) {
  const stored = { text: JSON.stringify({ ...GRANT, ...grant }) as string | undefined };
  const seen: string[] = [];
  const logged: string[] = [];
  const lines: [level: string, message: string, fields: object][] = [];
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
  const log = (level: string) => (fields: object, message: string) => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
    lines.push([level, message, fields]);
  };
  const worker = (): Services =>
    ({
      clock,
      claims,
      ids: { uuid: () => `holder ${(drawn += 1)}` },
      log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
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
          // Lets others run in the meantime.
          for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          if (refresh) return await refresh(tokens);
          return { ...tokens, accessToken: `new ${seen.length}`, refreshToken: `r${seen.length + 1}`, expiresAtMs: nowMs + 600_000 };
        },
      },
    }) as unknown as Services;
  return { stored, seen, logged, lines, worker, claims, passedMs: () => nowMs - NOW_MS, wanted: { taskId: "0-task", key: "calendar" } };
}

describe("a token", () => {
  test("that is valid for more than a minute, or without a known end, is used as it is", async () => {
    for (const expiresAtMs of [NOW_MS + 60_001, undefined]) {
      const { worker, wanted, seen, stored } = deployed();
      stored.text = JSON.stringify({ ...GRANT, expiresAtMs });
      expect([await freshToken(worker(), wanted), seen]).toEqual(["old", []]);
    }
    const { worker, wanted, seen } = deployed({ expiresAtMs: NOW_MS + 60_000 });
    expect([await freshToken(worker(), wanted), seen]).toEqual(["new 1", ["r1"]]);
  });

  test("is renewed once by simultaneous requests, in one worker and in several", async () => {
    const { worker, wanted, seen, stored } = deployed();
    const [here, there] = [worker(), worker()];
    const tokens = await Promise.all([here, here, there, there].map((services) => freshToken(services, wanted)));
    expect([tokens, seen]).toEqual([["new 1", "new 1", "new 1", "new 1"], ["r1"]]);
    expect(JSON.parse(stored.text ?? "")).toMatchObject({ accessToken: "new 1", refreshToken: "r2" });
  });

  test.each([
    ["two tasks", { taskId: "0-other", key: "calendar" }],
    ["two questions of one task", { taskId: "0-task", key: "mail" }],
  ])("of %s is renewed for each, and neither gets the token of the other", async (_what, other) => {
    const { worker, wanted } = deployed();
    const both = [wanted, other];
    const nameOf = ({ taskId, key }: typeof wanted) => `${taskId}/${key}`;
    const deposits = {
      open: async (taskId: string, key: string) => JSON.stringify({ ...GRANT, refreshToken: nameOf({ taskId, key }) }),
      replace: async () => true,
    };
    const oauth = {
      async refresh(tokens: GrantedTokens) {
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return { ...tokens, accessToken: `new of ${tokens.refreshToken}` };
      },
    };
    const services = { ...worker(), deposits, oauth } as unknown as Services;
    expect(await Promise.all(both.map((each) => freshToken(services, each)))).toEqual(both.map((each) => `new of ${nameOf(each)}`));
  });

  test("that was refused is renewed regardless of its lifetime, unless it was renewed in the meantime", async () => {
    const { worker, wanted, seen } = deployed({ expiresAtMs: NOW_MS + 600_000 });
    const services = worker();
    expect(await freshToken(services, { ...wanted, refused: "old" })).toBe("new 1");
    expect(await freshToken(services, { ...wanted, refused: "old" })).toBe("new 1");
    expect(seen).toEqual(["r1"]);
  });

  test("is still used while it lasts, if the provider is unreachable or issued no refresh token", async () => {
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

  test("is not waited for forever while another worker renews it, and is used when it arrives", async () => {
    const { worker, wanted, claims, stored } = deployed({ expiresAtMs: NOW_MS });
    await claims.take("refresh 0-task calendar", "a worker that hangs", 45_000);
    await expect(freshToken(worker(), wanted)).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    const waiting = freshToken(worker(), wanted);
    stored.text = JSON.stringify({ ...GRANT, accessToken: "theirs", expiresAtMs: NOW_MS + 900_000 });
    expect(await waiting).toBe("theirs");
  });

  test("of a task that has ended in the meantime is returned, and stored nowhere", async () => {
    const { worker, wanted, stored } = deployed({}, async (tokens) => {
      stored.text = undefined;
      return { ...tokens, accessToken: "last" };
    });
    expect([await freshToken(worker(), wanted), stored.text]).toEqual(["last", undefined]);
    await expect(freshToken(worker(), wanted)).rejects.toMatchObject({ code: "DEPOSIT_UNREADABLE" });
  });

  test("is never a secret that a person entered", async () => {
    for (const text of ["hunter2", "{}", "null"]) {
      const { worker, wanted, stored } = deployed();
      stored.text = text;
      const error: unknown = await freshToken(worker(), wanted).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "DEPOSIT_UNREADABLE", message: expect.not.stringContaining("hunter2") });
    }
  });

  test("that is renewed is logged, and the log names no token", async () => {
    const renewed = deployed();
    await freshToken(renewed.worker(), renewed.wanted);
    const facts = { ...renewed.wanted, provider: "calendar" };
    expect(renewed.lines).toStrictEqual([["info", "token refreshed", { ...facts, kept: true }]]);

    const raced = deployed({}, async (tokens) => {
      raced.stored.text = JSON.stringify({ ...GRANT, accessToken: "theirs" });
      return tokens;
    });
    await freshToken(raced.worker(), raced.wanted);
    expect(raced.lines).toStrictEqual([["info", "token refreshed", { ...facts, kept: false }]]);

    const away = deployed({}, () => Promise.reject(new ParleyError("PROVIDER_UNAVAILABLE", "no answer")));
    await freshToken(away.worker(), away.wanted);
    expect(away.lines).toMatchObject([["warn", "token not refreshed", { ...facts, code: "PROVIDER_UNAVAILABLE" }]]);
  });

  test("is used until it expires while the provider is unreachable, but not if it was refused or the error is unknown", async () => {
    const away = () => Promise.reject(new ParleyError("PROVIDER_UNAVAILABLE", "no answer"));
    const last = deployed({ expiresAtMs: NOW_MS + 1 }, away);
    expect(await freshToken(last.worker(), last.wanted)).toBe("old");
    const refused = deployed({}, away);
    await expect(freshToken(refused.worker(), { ...refused.wanted, refused: "old" })).rejects.toMatchObject({
      code: "PROVIDER_UNAVAILABLE",
    });
    const defect = new TypeError("x is undefined");
    const broken = deployed({}, () => Promise.reject(defect));
    const services = broken.worker();
    for (const tries of [1, 2]) {
      await expect(freshToken(services, broken.wanted)).rejects.toBe(defect);
      expect(broken.seen).toHaveLength(tries);
    }
  });

  test.each([{}, { oauth: undefined }])("without a refresh token reports that it has expired (%j)", async (without) => {
    const { worker, wanted } = deployed(
      "oauth" in without ? { expiresAtMs: NOW_MS } : { expiresAtMs: NOW_MS, refreshToken: undefined as never },
    );
    await expect(freshToken({ ...worker(), ...without } as Services, wanted)).rejects.toMatchObject({
      code: "GRANT_EXPIRED",
      message: "the access to calendar that was granted has ended, and calendar gave no refresh token",
    });
  });

  test("cannot be read by a worker that reads no deposits", async () => {
    const { worker, wanted } = deployed();
    const { deposits: _, ...without } = worker();
    await expect(freshToken(without, wanted)).rejects.toMatchObject({
      code: "DEPOSIT_UNREADABLE",
      message: "this worker cannot read the deposits of pages",
    });
  });

  test("is claimed for half a minute by the worker that renews it, which releases the claim or lets it expire", async () => {
    const { worker, wanted, claims } = deployed();
    const calls: unknown[] = [];
    const watched = {
      ...claims,
      take: async (...of: Parameters<typeof claims.take>) => (calls.push(["take", ...of]), await claims.take(...of)),
      release: async (...of: Parameters<typeof claims.release>) => (
        calls.push(["release", ...of]),
        await Promise.reject(new Error("away"))
      ),
    };
    expect(await freshToken({ ...worker(), claims: watched }, wanted)).toBe("new 1");
    expect(calls).toStrictEqual([
      ["take", "refresh 0-task calendar", "holder 1", 30_000],
      ["release", "refresh 0-task calendar", "holder 1"],
    ]);
  });

  test("is claimed once by simultaneous requests of one worker", async () => {
    const { worker, wanted, claims, seen } = deployed();
    let takes = 0;
    const watched = { ...claims, take: async (...of: Parameters<typeof claims.take>) => ((takes += 1), await claims.take(...of)) };
    const services = { ...worker(), claims: watched };
    await Promise.all([freshToken(services, wanted), freshToken(services, wanted), freshToken(services, wanted)]);
    expect([takes, seen]).toEqual([1, ["r1"]]);
  });

  test("is renewed at once if there is no other process to claim it from", async () => {
    const { worker, wanted, seen, passedMs } = deployed();
    const { claims: _, ...alone } = worker();
    expect(await freshToken(alone, wanted)).toBe("new 1");
    expect([seen, passedMs()]).toStrictEqual([["r1"], 0]);
  });

  test("is polled every tenth of a second, for forty seconds", async () => {
    const { worker, wanted, claims, passedMs } = deployed({ expiresAtMs: NOW_MS });
    await claims.take("refresh 0-task calendar", "a worker that hangs", 60_000);
    let looks = 0;
    const services = worker();
    const take = async (...of: Parameters<typeof claims.take>) => ((looks += 1), await claims.take(...of));
    await expect(freshToken({ ...services, claims: { ...claims, take } }, wanted)).rejects.toMatchObject({
      code: "PROVIDER_UNAVAILABLE",
      message: "another worker has been refreshing the token for too long",
    });
    expect([passedMs(), looks]).toStrictEqual([40_000, 401]);
  });

  test("that arrived while the claim was taken is not renewed once more", async () => {
    const { worker, wanted, claims, stored, seen } = deployed();
    const take = async (...of: Parameters<typeof claims.take>) => {
      stored.text = JSON.stringify({ ...GRANT, accessToken: "theirs" });
      return await claims.take(...of);
    };
    expect(await freshToken({ ...worker(), claims: { ...claims, take } }, wanted)).toBe("theirs");
    expect(seen).toStrictEqual([]);
  });

  test("of one question of one task is separate from all others", async () => {
    const { worker, seen } = deployed();
    const services = worker();
    const asked = [
      { taskId: "0-a", key: "x" },
      { taskId: "0-a", key: "y" },
      { taskId: "0-b", key: "x" },
    ];
    await Promise.all(asked.map((wanted) => freshToken(services, wanted)));
    expect(seen).toStrictEqual(["r1", "r1", "r1"]);
  });
});

describe("a token of a grant that is kept for several tasks", () => {
  const REF = { principal: "ann", id: "crm", ttlMs: 1_000 };

  /** As `deployed`, with the grant where all tasks find it. */
  function keptBy(grant: Partial<GrantedTokens> = {}, refresh?: (tokens: GrantedTokens) => Promise<GrantedTokens>) {
    const deployment = deployed(grant, refresh);
    const removed: string[] = [];
    let kept: KeptGrant | undefined = { consent: "c1", text: deployment.stored.text ?? "" };
    let outage = 0;
    const reach = () => {
      if (outage > 0) throw new ParleyError("UNAVAILABLE", `away for ${(outage -= 1)} more commands`);
    };
    const grants: Pick<KeptGrants, "use" | "replace" | "remove"> = {
      async use() {
        reach();
        return kept;
      },
      async replace(_ref, before, text) {
        reach();
        if (kept?.consent !== before.consent || kept.text !== before.text) return false;
        kept = { ...kept, text };
        return true;
      },
      async remove(_ref, consent, why) {
        reach();
        if (kept?.consent !== consent) return;
        removed.push(`${consent} ${why}`);
        kept = undefined;
      },
    };
    const worker = (): Services => ({ ...deployment.worker(), grants: grants as KeptGrants });
    return {
      ...deployment,
      worker,
      removed,
      now: () => kept && { consent: kept.consent, ...(JSON.parse(kept.text) as GrantedTokens) },
      grantAnew: (consent: string) =>
        (kept = { consent, text: JSON.stringify({ ...GRANT, accessToken: `of ${consent}`, expiresAtMs: undefined }) }),
      goAway: (commands: number) => (outage = commands),
    };
  }

  const refusedFor = (reason: string) => () => Promise.reject(new ParleyError("GRANT_EXPIRED", "no", { data: { reason } }));

  test("is renewed once by tasks of several workers that need it at once, whose refresh token rotates", async () => {
    const { worker, seen, now } = keptBy();
    const workers = [worker(), worker(), worker()];
    const tokens = await Promise.all([...workers, ...workers].map((services) => keptToken(services, REF)));
    expect([new Set(tokens), seen]).toEqual([new Set(["new 1"]), ["r1"]]);
    expect(now()).toMatchObject({ consent: "c1", accessToken: "new 1", refreshToken: "r2" });
  });

  test.each([
    ["principals", { principal: "bob" }],
    ["tenants", { tenant: "globex" }],
    ["grants of one principal", { id: "calendar" }],
  ])("of two %s is renewed at once for each, and neither gets the token of the other", async (_what, other) => {
    const { worker, seen } = deployed();
    const refs = [REF, { ...REF, ...other }];
    const nameOf = ({ tenant = "", principal, id }: GrantRef) => [tenant, principal, id].join("/");
    const texts = new Map(
      refs.map((ref) => [nameOf(ref), JSON.stringify({ ...GRANT, accessToken: `old of ${nameOf(ref)}`, refreshToken: nameOf(ref) })]),
    );
    const grants = {
      use: async (ref: GrantRef) => ({ consent: "c1", text: texts.get(nameOf(ref)) }),
      replace: async (ref: GrantRef, _before: KeptGrant, text: string) => Boolean(texts.set(nameOf(ref), text)),
    } as unknown as KeptGrants;
    const oauth = {
      async refresh(tokens: GrantedTokens) {
        seen.push(tokens.refreshToken ?? "");
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return { ...tokens, accessToken: `new of ${tokens.refreshToken}`, expiresAtMs: NOW_MS + 900_000 };
      },
    };
    const here = { ...worker(), grants, oauth } as unknown as Services;
    const there = { ...worker(), grants, oauth } as unknown as Services;
    const tokens = await Promise.all(
      [here, there].flatMap((services) => refs.map(async (ref) => [nameOf(ref), await keptToken(services, ref)])),
    );
    for (const [name, token] of tokens) expect(token).toBe(`new of ${name}`);
    expect(seen.toSorted()).toEqual(refs.map(nameOf).toSorted());
  });

  test("that was renewed is not lost while Redis is away: it is kept as soon as that is back", async () => {
    const { worker, seen, now, goAway } = keptBy({}, async (tokens) => {
      goAway(100);
      return { ...tokens, accessToken: "new", refreshToken: "r2", expiresAtMs: NOW_MS + 900_000 };
    });
    expect(await keptToken(worker(), REF)).toBe("new");
    expect([now(), seen]).toMatchObject([{ accessToken: "new", refreshToken: "r2" }, ["r1"]]);
  });

  test("is not tried for without an end while Redis is away", async () => {
    const { worker, goAway, passedMs } = keptBy();
    goAway(Infinity);
    await expect(keptToken(worker(), REF)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(passedMs()).toBe(120_000);
  });

  test("is renewed by another worker when the first has died in the middle of it", async () => {
    const { worker, claims, passedMs } = keptBy({ expiresAtMs: NOW_MS });
    await claims.take("refresh grant  crm ann", "a worker that died", 30_000);
    expect(await keptToken(worker(), REF)).toBe("new 1");
    expect(passedMs()).toBeLessThanOrEqual(30_100);
  });

  test.each([
    ["the provider ended it", {}, refusedFor("invalid_grant")],
    ["it expired, and the provider gave no refresh token", { expiresAtMs: NOW_MS, refreshToken: undefined as never }, undefined],
  ])("is none when %s, and the grant is removed", async (_what, grant, refresh) => {
    const { worker, removed, now } = keptBy(grant, refresh);
    await expect(keptToken(worker(), REF)).rejects.toMatchObject({ code: "GRANT_EXPIRED" });
    expect([removed, now()]).toEqual([["c1 ended"], undefined]);
    await expect(keptToken(worker(), REF)).rejects.toMatchObject({
      code: "GRANT_EXPIRED",
      message: "the access that was granted is no longer kept",
    });
  });

  test.each([
    ["refuses the client, not the consent", refusedFor("invalid_client"), "GRANT_EXPIRED"],
    ["is away", () => Promise.reject(new ParleyError("PROVIDER_UNAVAILABLE", "no answer")), "PROVIDER_UNAVAILABLE"],
    ["says what cannot be trusted", () => Promise.reject(new ParleyError("PROVIDER_INVALID", "not a bearer token")), "PROVIDER_INVALID"],
  ])("stays kept when the provider %s", async (_what, refresh, code) => {
    const { worker, removed, now } = keptBy({ expiresAtMs: NOW_MS }, refresh);
    await expect(keptToken(worker(), REF)).rejects.toMatchObject({ code });
    expect([removed, now()?.refreshToken]).toEqual([[], "r1"]);
  });

  test("of a later consent is neither overwritten nor removed by a renewal of the one before", async () => {
    const overwritten = keptBy({}, async (tokens) => (overwritten.grantAnew("c2"), { ...tokens, accessToken: "of c1" }));
    expect(await keptToken(overwritten.worker(), REF)).toBe("of c1");
    expect(overwritten.now()).toMatchObject({ consent: "c2", accessToken: "of c2" });
    const ended = keptBy({}, () => (ended.grantAnew("c2"), refusedFor("invalid_grant")()));
    await expect(keptToken(ended.worker(), REF)).rejects.toMatchObject({ code: "GRANT_EXPIRED" });
    expect([ended.removed, ended.now()?.consent]).toEqual([[], "c2"]);
  });
});
