import { describe, expect, test } from "vitest";
import { ANONYMOUS } from "../callers/caller.ts";
import type { KeptAccess } from "../effects.ts";
import { ParleyError } from "../errors.ts";
import type { GrantEnd, GrantRef, KeptGrant } from "../callers/kept-grants.ts";
import { aCall, inMemory } from "./in-memory.fixture.ts";
import { keptAccess } from "./kept-access.ts";
import type { Services } from "./services.ts";

const TOKENS = { provider: "crm", accessToken: "secret", refreshToken: "r1", scopes: [] };

/** A task of Ann's at a deployment that keeps one grant of hers. */
function deployed({ outage = 0, ...more }: Partial<Services> & { readonly outage?: number } = {}) {
  const asked: unknown[][] = [];
  let kept: KeptGrant | undefined = { consent: "c1", text: JSON.stringify(TOKENS) };
  let left = outage;
  const reach = (...command: unknown[]) => {
    if (left > 0) {
      left -= 1;
      throw new ParleyError("UNAVAILABLE", "no answer");
    }
    asked.push(command);
  };
  const { services, pass } = inMemory({
    oauth: { refresh: () => Promise.reject(new Error("not needed")) } as unknown as NonNullable<Services["oauth"]>,
    grants: {
      async use(ref, use) {
        reach("use", ref, use);
        return kept;
      },
      replace: () => Promise.reject(new Error("not needed")),
      keep: () => Promise.reject(new Error("not needed")),
      list: () => Promise.reject(new Error("not needed")),
      revoke: () => Promise.reject(new Error("not needed")),
      async remove(ref: GrantRef, consent: string, why: GrantEnd) {
        reach("remove", ref, consent, why);
        kept = undefined;
      },
    },
    ...more,
  });
  const call = aCall({ principal: "ann", tenant: "acme" });
  return { services, asked, pass, call, access: keptAccess(services, { id: "0-task", call }) };
}

const REF = { principal: "ann", tenant: "acme", id: "crm" };

describe("the kept grants of a task", () => {
  test("are those of its owner: each use names the task, and a removal why", async () => {
    const { access, asked } = deployed();
    expect(await access?.find("crm", { ttlMs: 1_000 })).toBe("c1");
    expect(await access?.token("crm", { ttlMs: 2_000 })).toBe("secret");
    await access?.refuse("crm", "c1");
    expect(asked).toStrictEqual([
      ["use", REF, { ttlMs: 1_000, taskId: "0-task" }],
      ["use", { ...REF }, { ttlMs: 2_000 }],
      ["remove", REF, "c1", "refused"],
    ]);
    expect(await access?.find("crm", { ttlMs: 1_000 })).toBeUndefined();
    expect(await access?.find("crm", { ttlMs: 1_000, not: "c1" })).toBeUndefined();
  });

  test("leave out the consent that the upstream has refused", async () => {
    const { access } = deployed();
    expect(await access?.find("crm", { ttlMs: 1_000, not: "c1" })).toBeUndefined();
    expect(await access?.find("crm", { ttlMs: 1_000, not: "c0" })).toBe("c1");
  });

  test.each<[string, (access: KeptAccess | undefined) => Promise<unknown> | undefined]>([
    ["use", (access) => access?.find("crm", { ttlMs: 1_000 })],
    ["remove", (access) => access?.refuse("crm", "c1")],
  ])("are tried again while Redis is unreachable: %s", async (command, work) => {
    const { access, asked, pass } = deployed({ outage: 1 });
    const done = work(access);
    await pass(500);
    await done;
    expect(asked.map(([name]) => name)).toStrictEqual([command]);
  });

  test("do not exist where none are kept, or no provider is known", () => {
    const { services, call } = deployed();
    const { grants: _grants, ...withoutGrants } = services;
    const { oauth: _oauth, ...withoutProviders } = services;
    for (const without of [withoutGrants, withoutProviders]) expect(keptAccess(without, { id: "0-task", call })).toBeUndefined();
  });

  test("do not exist for an anonymous owner, because everyone is the same principal", () => {
    const { services, call } = deployed();
    expect(keptAccess(services, { id: "0-task", call: { ...call, principal: ANONYMOUS } })).toBeUndefined();
  });
});
