/** Code that a front end runs, and that leaves errors behind which nothing catches. */
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
