/**
 * 9. Events
 *
 * Some answers come from another system: a payment, a build, a parcel. `ctx.event` opens such a wait and gives an address; hand it to that
 * system in a step, and wait. The address is the credential, so it is never recorded and never shown to the client.
 */
import { TimedOut, ToolError, defineTool } from "@parley/sdk";
import { runTool, startTool, timeout } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

/** What a payment service was told. */
const callbacks: string[] = [];

const pay = defineTool({
  name: "pay",
  async run(_args, ctx) {
    const paid = ctx.event("paid", { schema: z.object({ reference: z.string() }), timeout: "1 day" });
    await ctx.step("checkout", () => void callbacks.push(paid.url));
    ctx.status("Waiting for the payment");
    try {
      const { reference } = await paid.received();
      return `Paid, reference ${reference}`;
    } catch (error) {
      if (error instanceof TimedOut) throw new ToolError("It was not paid in time.");
      throw error;
    }
  },
});

test("the tool waits without a worker, and continues when the event is reported", async () => {
  const running = await startTool(pay);
  expect(callbacks.at(-1)).toMatch(/^https?:\/\//);
  expect(running.task).toMatchObject({ status: "working", message: "Waiting for the payment" });
  // `tell` stands for the other system's POST to the address.
  await running.tell("paid", { reference: "R-7" });
  expect(running.text).toBe("Paid, reference R-7");
});

test("what does not fit is refused, and the same again does no harm", async () => {
  const running = await startTool(pay);
  await expect(running.tell("paid", { reference: 7 })).rejects.toThrow("reference");
  expect(await running.tell("paid", { reference: "R-7" })).toBe("accepted");
  expect(await running.tell("paid", { reference: "R-7" })).toBe("duplicate");
});

test("nothing in time is a TimedOut, as for a question", async () => {
  expect((await runTool(pay, {}, { events: { paid: timeout } })).text).toBe("It was not paid in time.");
});
