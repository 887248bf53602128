import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type ToolLimit, DefinitionError, defineTool } from "./index.ts";
import { runTool } from "./testing.ts";

const limited = (limit: unknown) => defineTool({ name: "send", limit: limit as ToolLimit<never>, run: () => "sent" });
const call = { principal: "ada", tenant: "acme" } as never;

describe("a limit", () => {
  test("is read as it is written", () => {
    expect(limited({ concurrency: 5 }).limit).toMatchObject({ concurrency: 5 });
    expect(limited({ rate: "100/m" }).limit).toMatchObject({ rate: { count: 100, windowMs: 60_000 } });
    expect(limited({ concurrency: 10_000, rate: "999999/d" }).limit).toMatchObject({ rate: { windowMs: 86_400_000 } });
    expect(defineTool({ name: "free", run: () => "" }).limit).toBeUndefined();
  });

  test("is for the tool, or for each key of the arguments and the caller", async () => {
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
  });

  test.each([
    [{}, "neither concurrency nor rate"],
    [{ concurrency: 0 }, "from 1 to 10000"],
    [{ concurrency: 10_001 }, "from 1 to 10000"],
    [{ concurrency: 1.5 }, "whole number"],
    [{ concurrency: "5" }, "whole number"],
    [{ rate: "100" }, 'such as "100/m"'],
    [{ rate: "0/m" }, "from 1 to 999999"],
    [{ rate: "1000000/m" }, "from 1 to 999999"],
    [{ rate: "5/w" }, "s, m, h or d"],
  ])("is refused where it is defined: %o", (limit, message) => {
    expect(() => limited(limit)).toThrow(DefinitionError);
    expect(() => limited(limit)).toThrow(message);
  });
});
