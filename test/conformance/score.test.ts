import { describe, expect, test } from "vitest";
import { type Check, failing, score } from "./score.ts";

const check = (id: string, status: Check["status"] = "SUCCESS", scenario = "ping"): Check => ({ scenario, id, status });
const run = (...checks: Check[]) => new Map([["ping", checks]]);

describe("the score of a conformance run", () => {
  test("is full when every check succeeded; informative ones count for nothing", () => {
    const result = score(run(check("a"), check("b"), check("c", "INFO")), { scenarios: 1, checks: 2 }, []);
    expect(result).toEqual({ scenarios: 1, passed: 2, failures: [], allowed: [] });
  });

  test("counts a warning and a skip as failures", () => {
    expect(score(run(check("a"), check("b", "SKIPPED")), { scenarios: 1, checks: 1 }, []).failures).toEqual(["ping b: skipped"]);
    const result = score(run(check("a"), { ...check("b", "WARNING"), errorMessage: "late" }), { scenarios: 1, checks: 2 }, []);
    expect(result.failures).toEqual(["ping b: warning late"]);
  });

  test("misses scenarios and checks that left no report", () => {
    expect(score(new Map(), { scenarios: 1, checks: 2 }, []).failures).toEqual([
      "1 of 1 scenarios left no report",
      "2 of 2 checks were not made",
    ]);
    expect(score(run(check("a")), { scenarios: 1, checks: 2 }, []).failures).toEqual(["1 of 2 checks were not made"]);
    expect(score(run(check("a"), check("b", "SKIPPED")), { scenarios: 1, checks: 2 }, []).failures).toEqual([
      "ping b: skipped",
      "1 of 2 checks were not made",
    ]);
  });

  test("allows a known gap, and complains about one that has closed", () => {
    const gaps = [{ scenario: "ping", check: "b", reason: "upstream" }];
    expect(score(run(check("a"), check("b", "FAILURE")), { scenarios: 1, checks: 2 }, gaps)).toMatchObject({
      failures: [],
      allowed: ["ping b: failure (known: upstream)"],
    });
    expect(score(run(check("a"), check("b")), { scenarios: 1, checks: 2 }, gaps).failures).toEqual([
      "ping b: passes now, take it off known-gaps.json",
    ]);
  });

  test("names the scenarios that fail, but for known gaps", () => {
    const checks = new Map([
      ...run(check("a"), check("b", "FAILURE")),
      ["pong", [check("c", "WARNING", "pong"), check("d", "INFO", "pong")]],
    ]);
    expect(failing(checks, [])).toEqual(["ping", "pong"]);
    expect(failing(checks, [{ scenario: "ping", check: "b", reason: "upstream" }])).toEqual(["pong"]);
    expect(failing(run(check("a"), check("b", "INFO")), [])).toEqual([]);
  });
});
