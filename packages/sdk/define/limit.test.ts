import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { DEFAULT_TENANT } from "@parley/core";
import { type ToolLimit, DefinitionError, defineTool } from "../index.ts";
import { runTool } from "../testing/testing.ts";

const limited = (limit: unknown) => defineTool({ name: "send", limit: limit as ToolLimit<never>, run: () => "sent" });
const call = { principal: "ada", tenant: "acme" } as never;

describe("a limit", () => {
  test("is parsed from its declared form", () => {
    const keyOf = expect.any(Function);
    expect(limited({ concurrency: 5 }).limit).toStrictEqual({ concurrency: 5, keyOf });
    expect(limited({ concurrency: 1 }).limit).toStrictEqual({ concurrency: 1, keyOf });
    expect(limited({ rate: "1/s" }).limit).toStrictEqual({ rate: { count: 1, windowMs: 1_000 }, keyOf });
    expect(limited({ rate: "100/m" }).limit).toStrictEqual({ rate: { count: 100, windowMs: 60_000 }, keyOf });
    expect(limited({ rate: "20/h" }).limit).toStrictEqual({ rate: { count: 20, windowMs: 3_600_000 }, keyOf });
    expect(limited({ concurrency: 10_000, rate: "999999/d" }).limit).toStrictEqual({
      concurrency: 10_000,
      rate: { count: 999_999, windowMs: 86_400_000 },
      keyOf,
    });
    expect(defineTool({ name: "free", run: () => "" }).limit).toBeUndefined();
  });

  test("applies to the tool, or to each key of the arguments and the caller", async () => {
    expect(await limited({ concurrency: 1 }).limit?.keyOf({}, call)).toBe("");
    const tool = defineTool({
      name: "send",
      input: z.object({ to: z.string().toLowerCase() }),
      limit: {
        rate: "1/s",
        per({ to }, { principal, tenant }) {
          expectTypeOf(to).toEqualTypeOf<string>();
          return `${to} ${principal} ${tenant}`;
        },
      },
      run: ({ to }) => to,
    });
    // As the handler gets them.
    expect(await tool.limit?.keyOf({ to: "BOB" }, call)).toBe("bob ada acme");
    expect((await runTool(tool, { to: "BOB" })).text).toBe("bob");
    expect(await tool.limit?.keyOf({ to: "BOB" }, { principal: "ada" } as never)).toBe(`bob ada ${DEFAULT_TENANT}`);
    await expect(tool.limit?.keyOf({ to: 1 }, call)).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
      message: "invalid arguments for tool send: /to Invalid input: expected string, received number",
      violations: [{ path: "/to", message: "Invalid input: expected string, received number" }],
    });
  });

  const whole = "and must be a whole number from 1 to 10000";
  const rate = 'and must be a number from 1 to 999999 and s, m, h or d, such as "100/m"';

  test.each([
    [{}, "limit has neither concurrency nor rate: give one of them, such as { concurrency: 5 }"],
    [{ concurrency: 0 }, `limit.concurrency is 0 ${whole}`],
    [{ concurrency: 10_001 }, `limit.concurrency is 10001 ${whole}`],
    [{ concurrency: 1.5 }, `limit.concurrency is 1.5 ${whole}`],
    [{ concurrency: "5" }, `limit.concurrency is 5 ${whole}`],
    [{ rate: "100" }, `limit.rate is "100" ${rate}`],
    [{ rate: "0/m" }, `limit.rate is "0/m" ${rate}`],
    [{ rate: "1000000/m" }, `limit.rate is "1000000/m" ${rate}`],
    [{ rate: "5/w" }, `limit.rate is "5/w" ${rate}`],
    [{ rate: "5/min" }, `limit.rate is "5/min" ${rate}`],
    [{ rate: "-5/m" }, `limit.rate is "-5/m" ${rate}`],
    [{ rate: "" }, `limit.rate is "" ${rate}`],
  ])("that is invalid is refused at definition: %o", (limit, message) => {
    expect(() => limited(limit)).toThrow(new DefinitionError(`tool send: ${message}`));
  });
});
