import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callerNamed } from "./caller.fixture.ts";
import { type NoPlace, shareOf, type SharedPlaces, sharedPlaces, type Taker, takerOf, turnOf } from "./shares.ts";

describe("a share", () => {
  test("belongs to the principal if there are no tenants", () => {
    expect(shareOf({ principal: "alice" })).toBe("principal:alice");
    expect(shareOf({ principal: "alice", tenant: "default" })).toBe("principal:alice");
  });

  test("belongs to the tenant for all of its principals, and never equals a principal's", () => {
    expect(shareOf({ principal: "alice", tenant: "acme" })).toBe("tenant:acme");
    expect(shareOf({ principal: "bob", tenant: "acme" })).toBe("tenant:acme");
    expect(shareOf({ principal: "acme" })).not.toBe(shareOf({ principal: "bob", tenant: "acme" }));
  });
});

test("callers that cannot be told apart have no share, and their tasks no turn", () => {
  expect(takerOf(callerNamed("anonymous", { authenticatedBy: "nobody" }))).toBeUndefined();
  expect(turnOf({ principal: "anonymous" })).toEqual({});
  expect(takerOf(callerNamed("bob", { tenant: "acme", authenticatedBy: "oidc" }))).toEqual({ share: "tenant:acme", principal: "bob" });
  expect(turnOf({ principal: "bob", tenant: "acme" })).toEqual({ share: "tenant:acme" });
});

const of = (share: string, principal = `u of ${share}`): Taker => ({ share, principal });

/** Takes places until one is refused. */
function takeAll(places: SharedPlaces, taker?: Taker): { readonly leave: (() => void)[]; readonly refused: NoPlace } {
  const leave: (() => void)[] = [];
  for (;;) {
    const taken = places.take(taker);
    if (typeof taken === "string") return { leave, refused: taken };
    leave.push(taken);
  }
}

describe("places", () => {
  test("of takers that cannot be told apart are bounded in total alone: all are taken, and one more is refused", () => {
    const { leave, refused } = takeAll(sharedPlaces(5, 1));
    expect([leave.length, refused]).toEqual([5, "all"]);
  });

  test("of one caller have a maximum of their own: at it all are taken, and one more is refused", () => {
    const { leave, refused } = takeAll(sharedPlaces(100, 3), of("a"));
    expect([leave.length, refused]).toEqual([3, "own"]);
  });

  test("can be taken by one share up to seven eighths of all; one beyond is refused, and goes to others", () => {
    const places = sharedPlaces(5_000);
    const callers = ["a", "b", "c", "d"].map((name) => of("acme", name));
    const held = callers.flatMap((caller) => takeAll(places, caller).leave);
    expect(places.taken).toBeGreaterThan(5_000 * 0.86);
    expect(places.taken).toBeLessThanOrEqual(5_000 * 0.875);
    for (const caller of callers) expect(places.take(caller)).toBe("share");
    expect(places.take(of("quiet"))).toBeTypeOf("function");
    for (const leave of held.slice(0, 100)) leave();
    expect(places.take(callers[3])).toBeTypeOf("function");
  });

  test("of a tenant are divided between its callers: one that has taken what it may leaves some to another", () => {
    const places = sharedPlaces(1_000);
    expect(takeAll(places, of("acme", "greedy")).refused).toBe("share");
    expect(places.take(of("acme", "modest"))).toBeTypeOf("function");
  });

  test("of two callers of one name, in two tenants, are counted apart", () => {
    const places = sharedPlaces(100, 3);
    const [here, there] = [of("acme", "ann"), of("umbrella", "ann")];
    const { leave, refused } = takeAll(places, here);
    expect([leave.length, refused]).toEqual([3, "own"]);
    expect(takeAll(places, there).leave).toHaveLength(3);
    // And so are those that they give back.
    for (const each of leave) each();
    expect(places.take(there)).toBe("own");
    expect(takeAll(places, here).leave).toHaveLength(3);
  });

  test.each([1, 2, 7])("are all used if there are %d", (most) => {
    expect(takeAll(sharedPlaces(most), of("a")).leave).toHaveLength(most);
  });

  test("that are given back twice are free once, and nothing is kept of those who have left", () => {
    const places = sharedPlaces(3, 1);
    const leave = places.take(of("a")) as () => void;
    leave();
    leave();
    expect(places.taken).toBe(0);
    expect(places.take(of("a"))).toBeTypeOf("function");
    expect(places.take(of("a"))).toBe("own");
  });

  test.each([
    [5_000, 20],
    [1_000, 10],
    [100, 4],
  ])("are never all taken: of %d, %d shares in a row that take what they can leave one for the next", (most, shares) => {
    const places = sharedPlaces(most);
    for (let share = 0; share < shares; share += 1) takeAll(places, of(`greedy ${share}`));
    expect(places.take(of("next"))).toBeTypeOf("function");
  });

  test("are divided equally between shares that always want more, as they become free", () => {
    const places = sharedPlaces(1_000);
    const late = ["b", "c", "d"].map((name) => of(name));
    const ofA = takeAll(places, of("a")).leave;
    const counts = new Map<string, number>();
    // One of those that hold places leaves, and all want the place.
    for (const leave of ofA) {
      leave();
      for (const taker of late) {
        const taken = places.take(taker);
        if (typeof taken !== "string") counts.set(taker.share, (counts.get(taker.share) ?? 0) + 1);
      }
    }
    expect(Math.min(...counts.values())).toBeGreaterThan(Math.max(...counts.values()) * 0.9);
    expect(places.taken).toBeGreaterThan(900);
  });
});

describe("whatever other tenants take, and for however long", () => {
  /** A tenant that takes `burst` places at a time, each for `cost` rounds, by several callers. */
  const tenant = fc.record({
    burst: fc.integer({ min: 1, max: 400 }),
    cost: fc.integer({ min: 1, max: 50 }),
    callers: fc.integer({ min: 1, max: 9 }),
  });
  const flood = fc
    .record({ most: fc.integer({ min: 400, max: 3_000 }), tenants: fc.array(tenant, { minLength: 1, maxLength: 12 }) })
    .map(({ most, tenants }) => ({ most, tenants: tenants.slice(0, Math.sqrt(most) / 4) }));

  test("a caller who takes one place after another is never refused, no more are taken than there are, and all come back", () => {
    fc.assert(
      fc.property(flood, ({ most, tenants }) => {
        const places = sharedPlaces(most);
        const held: { readonly until: number; readonly leave: () => void }[] = [];
        for (let round = 0; round < 60; round += 1) {
          for (const [index, { burst, cost, callers }] of tenants.entries()) {
            for (let call = 0; call < burst; call += 1) {
              const leave = places.take(of(`tenant ${index}`, `caller ${index} ${call % callers}`));
              if (typeof leave !== "string") held.push({ until: round + cost, leave });
            }
          }
          const own = places.take(of("quiet"));
          expect(own).toBeTypeOf("function");
          expect(places.taken).toBeLessThanOrEqual(most);
          if (typeof own === "function") own();
          for (const each of held.filter(({ until }) => until <= round)) each.leave();
          held.splice(0, Infinity, ...held.filter(({ until }) => until > round));
        }
        for (const { leave } of held) leave();
        expect(places.taken).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});
