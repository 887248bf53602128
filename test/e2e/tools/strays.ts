/** Code that runs outside of runs, on front ends and workers, and that leaves errors behind which nothing catches. */
import { definePrompt, defineResource, defineResourceTemplate, defineTool } from "@parley/sdk";
import { z } from "zod";

function throwLater(): void {
  setTimeout(() => {
    throw new Error("thrown later");
  }, 5);
}

function rejectUnseen(): void {
  void Promise.reject(new Error("rejected unseen"));
}

const leave = { thrown: throwLater, rejected: rejectUnseen };

/** Workers check its arguments when it restarts, and ask whose limit it is before it runs. */
export const starts = defineTool({
  name: "starts",
  input: z.object({ round: z.number().refine(() => (throwLater(), true)) }),
  limit: { concurrency: 1, per: () => (throwLater(), "everyone") },
  run: async ({ round }, ctx) => (round === 3 ? "done" : await ctx.restart({ round: round + 1 })),
});

export default (["thrown", "rejected"] as const).flatMap((how) => [
  defineResource({ uri: `test://${how}`, name: how, read: () => (leave[how](), "read") }),
  defineResourceTemplate({ uriTemplate: `test://${how}/{id}`, name: how, read: ({ id }) => (leave[how](), id) }),
  definePrompt({ name: how, arguments: { to: { complete: () => (leave[how](), ["Ada"]) } }, run: () => "" }),
  defineTool({
    name: how,
    input: z.object({ to: z.string().refine(() => (leave[how](), true)) }),
    run: () => "done",
  }),
]);
