/**
 * 6. When nobody answers
 *
 * A person may decline, close the form, or not see it in time. `ctx.elicit` and its shorthands then throw, so that a tool cannot mistake a missing
 * answer for a yes. An error that the tool does not catch ends it with a result that says what happened. `ctx.ask` returns the outcome instead.
 */
import { Cancelled, Declined, TimedOut, defineTool } from "@parley/sdk";
import { cancel, decline, runTool, timeout } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const greet = defineTool({
  name: "greet",
  async run(_args, ctx) {
    try {
      return `Hello, ${await ctx.text("name", { message: "Who are you?", timeout: "1 hour" })}`;
    } catch (error) {
      if (error instanceof Declined) return "Hello, stranger";
      if (error instanceof Cancelled) return "Hello, person in a hurry";
      if (error instanceof TimedOut) return "Hello, somebody who is not there";
      throw error;
    }
  },
});

test("declining, closing and answering too late are three different errors", async () => {
  expect((await runTool(greet, {}, { answers: { name: "Ada" } })).text).toBe("Hello, Ada");
  expect((await runTool(greet, {}, { answers: { name: decline } })).text).toBe("Hello, stranger");
  expect((await runTool(greet, {}, { answers: { name: cancel } })).text).toBe("Hello, person in a hurry");
  expect((await runTool(greet, {}, { answers: { name: timeout } })).text).toBe("Hello, somebody who is not there");
});

test("an error that is not caught ends the tool, and the model learns why", async () => {
  const careless = defineTool({
    name: "careless",
    run: async (_args, ctx) => `Hello, ${await ctx.text("name", { message: "Who are you?" })}`,
  });
  const run = await runTool(careless, {}, { answers: { name: decline } });
  expect(run.result).toMatchObject({ isError: true });
  expect(run.text).toContain("declined");
});

test("a shorthand can return its default instead", async () => {
  const asked = defineTool({
    name: "asked",
    run: async (_args, ctx) =>
      String(await ctx.number("guests", { message: "How many?", default: 2, onDecline: "default", onTimeout: "default" })),
  });
  expect((await runTool(asked, {}, { answers: { guests: decline } })).text).toBe("2");
  expect((await runTool(asked, {}, { answers: { guests: timeout } })).text).toBe("2");
});

test("ctx.ask returns what became of the question, for tools that branch", async () => {
  const branches = defineTool({
    name: "branches",
    async run(_args, ctx) {
      const answer = await ctx.ask("keep", { message: "Keep it?", schema: z.object({ keep: z.boolean() }) });
      return answer.action === "accept" ? `keep: ${answer.content.keep}` : answer.action;
    },
  });
  expect((await runTool(branches, {}, { answers: { keep: { keep: true } } })).text).toBe("keep: true");
  expect((await runTool(branches, {}, { answers: { keep: cancel } })).text).toBe("cancel");
});
