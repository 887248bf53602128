/**
 * 9. Events
 *
 * Some answers come from another system: a payment, a build, a parcel. `ctx.event` creates an address at which that system can report. Pass the
 * address on in a step, and wait. The address is the credential, so it is never recorded and never shown to the client.
 */
import { TimedOut, ToolError, defineTool } from "@parley/sdk";
import { runTool, startTool, timeout } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

/** The addresses that the payment service received. */
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

test("an invalid body is refused, and a repeated one does no harm", async () => {
  const running = await startTool(pay);
  await expect(running.tell("paid", { reference: 7 })).rejects.toThrow("reference");
  expect(await running.tell("paid", { reference: "R-7" })).toBe("accepted");
  expect(await running.tell("paid", { reference: "R-7" })).toBe("duplicate");
});

test("an event that is not reported in time throws TimedOut, as a question does", async () => {
  expect((await runTool(pay, {}, { events: { paid: timeout } })).text).toBe("It was not paid in time.");
});
