import { ARGUMENTS_CHECK_MAX_MS, type Catalogue, fixedCatalogue, type JsonObject, testName } from "@parley/core";
import { createMemoryStore } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { aCall } from "../../test/contract/builders.ts";
import { editForm } from "./edit.ts";
import { foreseeEdits } from "./foresee.ts";

const move = (version?: string) =>
  defineTool({
    name: "move",
    ...(version !== undefined && { version }),
    input: z.object({ from: z.string(), to: z.string().startsWith("/") }),
    run: () => "moved",
  });
const ARGS = { from: "/a", to: "/b" };
const NONE: Catalogue = catalogue();

test.each<[string, { catalogue?: Catalogue; call?: object; content?: JsonObject; hints?: JsonObject }, string[]]>([
  ["a change that the tool does not take", {}, ["/content/to"]],
  ["one that it takes", { content: { to: "/c" } }, []],
  ["nothing that was changed", { content: { to: "/b" } }, []],
  [
    "a test as of the call that it copies",
    { call: { name: testName("move"), arguments: { arguments: ARGS, of: "0-x" } } },
    ["/content/to"],
  ],
  ["a damaged test: the gate decides", { call: { name: testName("move"), arguments: {} } }, []],
  ["a tool that is not here: the gate decides", { catalogue: NONE }, []],
  ["a version that is not here", { call: { version: "1" }, catalogue: catalogue([move("2")]) }, []],
  ["a version that is here beside a newer one", { call: { version: "1" }, catalogue: catalogue([move("2"), move("1")]) }, ["/content/to"]],
  ["a prompt", { call: { kind: "prompt" } }, []],
  ["an approval without fields for arguments", { hints: {} }, []],
])("of %s, an approver is told what is refused, and no more", async (_, given, paths) => {
  const store = createMemoryStore({ clock: { now: () => 0 }, wakeUps: { changed: () => undefined, askedChanged: () => undefined } });
  const call = aCall({ name: "move", arguments: ARGS, ...given.call });
  await store.create({ taskId: "0-task", call, graceMs: 1_000 });
  const schema = editForm(move(), ARGS, { edit: ["to"], redact: [], message: "Move?", secretNames: [] });
  const request = {
    type: "form",
    message: "Move?",
    schema,
    hints: given.hints ?? { filledIn: true },
    about: { isApproval: true },
  } as const;
  const foresee = foreseeEdits({ store, catalogues: fixedCatalogue(given.catalogue ?? catalogue([move()])), clock: systemClock });
  const found = await foresee({ id: "0-task", call }, { request }, given.content ?? { to: "nowhere" });
  // As of an answer that does not fit its form.
  expect(found.map(({ path }) => path)).toEqual(paths);
});

test("a refusal that is about no changed field is about the content, as of a form that does not fit, so that every client takes it for that", async () => {
  const store = createMemoryStore({ clock: { now: () => 0 }, wakeUps: { changed: () => undefined, askedChanged: () => undefined } });
  const call = aCall({ name: "move", arguments: ARGS });
  await store.create({ taskId: "0-task", call, graceMs: 1_000 });
  const strict = defineTool({
    name: "move",
    input: z
      .object({ from: z.string(), to: z.string() })
      .refine(({ from, to }) => !to.startsWith(from), { path: ["from"], message: "a secret" }),
    run: () => "moved",
  });
  const schema = editForm(strict, ARGS, { edit: ["to"], redact: ["/from"], message: "Move?", secretNames: [] });
  const request = { type: "form", message: "Move?", schema, hints: { filledIn: true }, about: { isApproval: true } } as const;
  const foresee = foreseeEdits({ store, catalogues: fixedCatalogue(catalogue([strict])), clock: systemClock });
  expect(await foresee({ id: "0-task", call }, { request }, { to: "/a/b" })).toEqual([
    { path: "/content", message: "The tool does not take these changes" },
  ]);
});

test("a check of the tool that takes longer than the approver waits is left to the gate, to the millisecond", async () => {
  const store = createMemoryStore({ clock: { now: () => 0 }, wakeUps: { changed: () => undefined, askedChanged: () => undefined } });
  const call = aCall({ name: "move", arguments: ARGS });
  await store.create({ taskId: "0-task", call, graceMs: 1_000 });
  const slow = { ...move(), readArguments: async () => await new Promise<never>(() => undefined) };
  const waited: number[] = [];
  const clock = {
    after(ms: number, then: () => void) {
      waited.push(ms);
      then();
      return () => undefined;
    },
  };
  const request = {
    type: "form",
    message: "Move?",
    schema: editForm(move(), ARGS, { edit: ["to"], redact: [], message: "Move?", secretNames: [] }),
    hints: { filledIn: true },
    about: { isApproval: true },
  } as const;
  const foresee = foreseeEdits({ store, catalogues: fixedCatalogue({ ...NONE, tools: new Map([["move", slow]]) }), clock });
  expect(await foresee({ id: "0-task", call }, { request }, { to: "nowhere" })).toEqual([]);
  expect(waited).toEqual([ARGUMENTS_CHECK_MAX_MS]);
});
