/** What every store of grants does, in memory and on Redis. */
import { type AuditFact, GRANTS_MAX, type KeptGrants } from "@parley/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

interface UnderTest {
  readonly grants: KeptGrants;
  /** What the audit has recorded so far. */
  facts(): Promise<readonly AuditFact[]>;
  close(): Promise<void>;
}

const DAY_MS = 24 * 60 * 60_000;
const TTL_MS = 90 * DAY_MS;
const USE = { ttlMs: TTL_MS };
const ABOUT = { upstream: "crm", provider: "id", scopes: ["read"] };
const ANN = { principal: "https://a.example ann", id: "G".repeat(22) };
const BOB = { ...ANN, principal: "bob", tenant: "acme" };
const KEPT = { text: '{"accessToken":"one"}', about: ABOUT, ttlMs: TTL_MS, taskId: "0-task" };

export function describeGrants(where: string, open: () => Promise<UnderTest>): void {
  describe(`kept grants ${where}`, () => {
    let under: UnderTest;
    let grants: KeptGrants;
    beforeEach(async () => {
      under = await open();
      ({ grants } = under);
    });
    afterEach(() => under.close());

    test("are found by tenant, principal and purpose together", async () => {
      const consent = await grants.keep(ANN, KEPT);
      const others = [
        { ...ANN, principal: "https://a.example bob" },
        { ...ANN, principal: "ann" },
        { ...ANN, tenant: "acme" },
        { ...ANN, id: "H".repeat(22) },
      ];
      for (const ref of others) expect(await grants.use(ref, USE)).toBeUndefined();
      expect(await grants.use(ANN, USE)).toEqual({ consent, text: KEPT.text });
      // The default tenant is one, whether or not it is named.
      expect(await grants.use({ ...ANN, tenant: "default" }, USE)).toEqual({ consent, text: KEPT.text });
    });

    test("are replaced by a later consent, and an earlier one can no longer change, remove or revoke them", async () => {
      const first = await grants.keep(ANN, KEPT);
      const before = (await grants.use(ANN, USE))!;
      const second = await grants.keep(ANN, { ...KEPT, text: "{}" });
      expect(second).not.toBe(first);
      expect(await grants.replace(ANN, before, "late")).toBe(false);
      await grants.remove(ANN, first, "refused");
      expect(await grants.revoke(ANN, first)).toBeUndefined();
      expect(await grants.use(ANN, USE)).toEqual({ consent: second, text: "{}" });
      await grants.remove(ANN, second, "refused");
      expect(await grants.use(ANN, USE)).toBeUndefined();
      expect(await grants.replace(ANN, before, "late")).toBe(false);
      // Even one with the same tokens.
      await grants.keep(ANN, KEPT);
      expect(await grants.replace(ANN, before, "late")).toBe(false);
    });

    test("are renewed by one of two, and never set back", async () => {
      await grants.keep(ANN, KEPT);
      const before = (await grants.use(ANN, USE))!;
      expect(await grants.replace(ANN, before, "two")).toBe(true);
      // Sent again after its reply was lost.
      expect(await grants.replace(ANN, before, "two")).toBe(true);
      expect(await grants.replace(ANN, before, "three")).toBe(false);
      expect(await grants.use(ANN, USE)).toEqual({ ...before, text: "two" });
    });

    test("end when their time is over", async () => {
      await grants.keep(ANN, { ...KEPT, ttlMs: 50 });
      await expect.poll(() => grants.list(ANN)).toEqual([]);
      expect(await grants.use(ANN, USE)).toBeUndefined();
    });

    test("are listed for their owner, without tokens, and each use starts their time again", async () => {
      const nearMs = Date.now();
      const mail = { ...ANN, id: "H".repeat(22) };
      const consents = [
        await grants.keep(ANN, KEPT),
        await grants.keep(mail, { ...KEPT, ttlMs: DAY_MS, about: { ...ABOUT, upstream: "mail" } }),
      ];
      await grants.keep(BOB, KEPT);
      const listed = await grants.list(ANN);
      // The one that ends first is first.
      expect(listed.map(({ id, consent, about }) => ({ id, consent, about }))).toEqual([
        { id: mail.id, consent: consents[1], about: { ...ABOUT, upstream: "mail" } },
        { id: ANN.id, consent: consents[0], about: ABOUT },
      ]);
      expect(JSON.stringify(listed)).not.toContain("accessToken");
      for (const { keptAtMs, usedAtMs } of listed) {
        expect(Math.abs(keptAtMs - nearMs)).toBeLessThan(60_000);
        expect(usedAtMs).toBe(keptAtMs);
      }
      expect(listed.map(({ endsAtMs, keptAtMs }) => endsAtMs - keptAtMs)).toEqual([DAY_MS, TTL_MS]);
      await expect.poll(() => Date.now()).toBeGreaterThan(listed[0]!.keptAtMs + 1);
      await grants.use(mail, USE);
      const later = (await grants.list(ANN)).find(({ id }) => id === mail.id)!;
      expect(later.endsAtMs - later.usedAtMs).toBe(TTL_MS);
      expect([later.keptAtMs, later.usedAtMs > later.keptAtMs]).toEqual([listed[0]!.keptAtMs, true]);
      expect(await grants.list({ principal: "nobody" })).toEqual([]);
    });

    test("are 100 for one principal at most: one more replaces the one that would end first", async () => {
      const id = (index: number) => String(index).padStart(22, "0");
      for (let index = 0; index < GRANTS_MAX; index += 1)
        await grants.keep({ ...ANN, id: id(index) }, { ...KEPT, ttlMs: index === 3 ? DAY_MS : TTL_MS });
      await grants.keep({ ...ANN, id: id(5) }, KEPT);
      expect(await grants.list(ANN)).toHaveLength(GRANTS_MAX);
      await grants.keep({ ...ANN, id: id(GRANTS_MAX) }, KEPT);
      const ids = (await grants.list(ANN)).map((grant) => grant.id);
      expect([ids.length, ids.includes(id(3)), ids.includes(id(GRANTS_MAX))]).toEqual([GRANTS_MAX, false, true]);
    });

    test("are revoked once, which returns their tokens so that the provider can be notified", async () => {
      const consent = await grants.keep(ANN, KEPT);
      const before = (await grants.use(ANN, USE))!;
      await grants.replace(ANN, before, "renewed");
      expect(await grants.revoke({ ...ANN, principal: "bob" }, consent)).toBeUndefined();
      expect(await grants.revoke({ ...ANN, id: "H".repeat(22) }, consent)).toBeUndefined();
      const both = await Promise.all([grants.revoke(ANN, consent), grants.revoke(ANN, consent)]);
      expect(both.filter((one) => one !== undefined)).toEqual([{ about: ABOUT, text: "renewed" }]);
      expect([await grants.list(ANN), await grants.use(ANN, USE)]).toEqual([[], undefined]);
    });

    test("are audited when they are kept, used by a task, removed and revoked, without a token", async () => {
      const consent = await grants.keep(BOB, KEPT);
      await grants.use(BOB, { ...USE, taskId: "0-later" });
      await grants.use(BOB, USE);
      await grants.remove(BOB, consent, "ended");
      await grants.remove(BOB, consent, "ended");
      await grants.revoke(BOB, await grants.keep(BOB, KEPT), "page");
      await expect.poll(async () => (await under.facts()).length).toBe(5);
      const fact = { action: "grant", principal: "bob", tenant: "acme", grant: ABOUT };
      expect(await under.facts()).toEqual([
        { ...fact, verdict: "kept", taskId: "0-task" },
        { ...fact, verdict: "used", taskId: "0-later" },
        { ...fact, verdict: "ended" },
        { ...fact, verdict: "kept", taskId: "0-task" },
        { ...fact, verdict: "revoked", door: "page" },
      ]);
    });
  });
}
