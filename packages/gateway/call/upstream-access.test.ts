import { type AskRequest, type Effects, type KeptAccess, ParleyError } from "@parley/core";
import { describe, expect, test } from "vitest";
import { createAccess, grantId } from "./upstream-access.ts";

const CRM = { name: "crm", reached: { by: "url" as const, url: "https://crm.example/mcp", headers: {} } };
const OAUTH = { provider: "crm", scopes: ["read"] };

test("a token that was refused is renewed once, and the one after it is kept until it is refused itself", async () => {
  const refused: (string | undefined)[] = [];
  const effects = {
    ask: async () => ({ action: "accept", content: { deposit: "authorize" } }),
    accessToken: async (_key: string, given?: string) => `token ${refused.push(given)}`,
    tookPatch: () => false,
    wasRecorded: () => false,
  } as unknown as Effects;
  const access = createAccess(effects, { upstream: CRM, oauth: OAUTH, what: "tool", timeoutMs: 1_000 });
  await access.ask();
  await access.token();
  await access.refused();
  await access.token();
  await access.token();
  expect(refused).toEqual([undefined, "token 1", undefined]);
});

test("access that has ended is asked for no more where the file has no oauth any more: the task ends, and says why", async () => {
  let granted: string | undefined = "token";
  const effects = {
    ask: async () => ({ action: "accept", content: { deposit: "authorize" } }),
    accessToken: async () => granted,
    tookPatch: () => false,
    wasRecorded: (key: string) => key === "ask:authorize",
  } as unknown as Effects;
  const access = createAccess(effects, { upstream: CRM, oauth: undefined, what: "tool search of upstream crm", timeoutMs: 1_000 });
  await access.ask();
  expect(await access.token()).toBe("token");
  granted = undefined;
  await expect(access.ask()).rejects.toMatchObject({
    code: "GRANT_EXPIRED",
    message: "tool search of upstream crm: its access has ended, and the file of upstreams has no oauth for it any more",
  });
});

describe("where grants are kept for later tasks", () => {
  const KEEPING = { ...OAUTH, keepMs: 90 * 24 * 60 * 60_000 };

  /** A task, and what its principal has granted so far. */
  function task({
    consent,
    oauth = KEEPING,
    ...more
  }: { consent?: string; oauth?: typeof OAUTH; kept?: undefined; patched?: false; took?: true } = {}) {
    const done: string[] = [];
    const asked: AskRequest[] = [];
    const state = { consent };
    const kept: KeptAccess = {
      async find(_id, { not }) {
        done.push(`find but ${not}`);
        return state.consent === not ? undefined : state.consent;
      },
      async token(_id, { refused }) {
        if (state.consent === undefined) throw new ParleyError("GRANT_EXPIRED", "none");
        return `of ${state.consent}${refused === undefined ? "" : `, not ${refused}`}`;
      },
      async refuse(_id, which) {
        done.push(`refuse ${which}`);
        if (state.consent === which) state.consent = undefined;
      },
    };
    const effects = {
      kept: "kept" in more ? undefined : kept,
      accessToken: async (key: string) => `deposit ${key}`,
      patched: () => more.patched ?? true,
      tookPatch: () => more.took ?? false,
      wasRecorded: () => false,
      step: async (_name: string, work: () => unknown) => JSON.parse(JSON.stringify(await work())) as unknown,
      async ask(_name: string, request: AskRequest) {
        asked.push(request);
        done.push("ask");
        const isKept = request.type === "url" && request.page?.kind === "oauth" && request.page.keep;
        if (!isKept) return { action: "accept", content: { deposit: "authorize" } };
        state.consent = `c${asked.length}`;
        return { action: "accept", content: { consent: state.consent } };
      },
    } as unknown as Effects;
    return { access: createAccess(effects, { upstream: CRM, oauth, what: "tool", timeoutMs: 1_000 }), done, asked, state };
  }

  test("the first task asks, and says that later calls use it too", async () => {
    const { access, done, asked } = task();
    await access.ask();
    expect([done, await access.token()]).toEqual([["find but undefined", "ask"], "of c1"]);
    expect(asked).toMatchObject([
      {
        message:
          "The tool works with your own account at crm. Log in there and allow it. Your later calls use the same access, until none has used it for 90 days.",
        page: { kind: "oauth", ...OAUTH, keep: { id: grantId(CRM, OAUTH), upstream: "crm", ttlMs: KEEPING.keepMs } },
      },
    ]);
  });

  test("a later one asks nothing", async () => {
    const { access, done } = task({ consent: "c0" });
    await access.ask();
    expect([done, await access.token()]).toEqual([["find but undefined"], "of c0"]);
  });

  test("a grant that has ended is asked for again, unless another task received one in the meantime", async () => {
    const { access, done, state } = task({ consent: "c0" });
    await access.ask();
    state.consent = undefined;
    expect(await access.token()).toBeUndefined();
    await access.ask();
    expect(await access.token()).toBe("of c1");
    state.consent = "of another task";
    await access.ask();
    expect(done).toEqual(["find but undefined", "find but c0", "ask", "find but c1"]);
  });

  test("a grant whose token is refused twice is removed, and asked for again", async () => {
    const { access, done } = task({ consent: "c0" });
    await access.ask();
    const first = await access.token();
    await access.refused();
    expect(await access.token()).toBe(`of c0, not ${first}`);
    await access.refused();
    expect(done).toEqual(["find but undefined", "refuse c0", "find but c0", "ask"]);
  });

  test("an upstream that refuses every token is given up after three grants", async () => {
    const { access, done } = task({ consent: "c0" });
    await access.ask();
    let refusals = 0;
    const goOn = async () => {
      for (; refusals < 20; refusals += 1) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await access.token();
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await access.refused();
      }
    };
    await expect(goOn()).rejects.toMatchObject({ code: "GRANT_EXPIRED" });
    // Each of the three is renewed once.
    expect([refusals, done.filter((step) => step === "ask").length]).toEqual([5, 2]);
  });

  test("a grant that cannot be renewed but stays kept is not tried again by the same task", async () => {
    const { access, done } = task({ consent: "c0" });
    await access.ask();
    await access.ask();
    expect(done).toEqual(["find but undefined", "find but c0", "ask"]);
  });

  test("a task gets access at most three times, whether or not it asks", async () => {
    const { access, state } = task({ consent: "c0" });
    await access.ask();
    state.consent = "another";
    await access.ask();
    await access.ask();
    await expect(access.ask()).rejects.toMatchObject({ code: "GRANT_EXPIRED" });
  });

  test.each([
    ["for a caller who is nobody in particular", { kept: undefined }],
    ["where the file does not say so", { oauth: OAUTH }],
    ["by tasks that began before grants were kept", { patched: false as const }],
  ])("nothing is kept %s", async (_what, given) => {
    const { access, asked } = task({ consent: "c0", ...given });
    await access.ask();
    expect(await access.token()).toBe("deposit authorize");
    expect(asked).toStrictEqual([
      {
        type: "url",
        url: "",
        message: "The tool works with your own account at crm. Log in there and allow it.",
        page: { kind: "oauth", ...OAUTH },
      },
    ]);
  });
});

test("each upstream, address, provider and set of scopes has a separate grant", () => {
  const at = (url: string) => ({ ...CRM, reached: { ...CRM.reached, url } });
  const ids = [
    grantId(CRM, OAUTH),
    grantId({ ...CRM, name: "mail" }, OAUTH),
    grantId(at("https://evil.example/mcp"), OAUTH),
    grantId(CRM, { ...OAUTH, provider: "other" }),
    grantId(CRM, { ...OAUTH, scopes: ["read", "write"] }),
    grantId(CRM, { ...OAUTH, scopes: ["read write"] }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(grantId({ ...CRM, reached: { ...CRM.reached, headers: { authorization: "another" } } }, OAUTH)).toBe(ids[0]);
});

test("the id of a grant is never taken for an option of a command", () => {
  const ids = Array.from({ length: 1_000 }, (_, number) => grantId({ ...CRM, name: `crm-${number}` }, OAUTH));
  expect(ids.filter((id) => !/^\w[\w-]{21}$/.test(id))).toEqual([]);
});
