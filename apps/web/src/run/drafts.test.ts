import { expect, test } from "vitest";
import { inputsOf } from "../../form/inputs.ts";
import { DRAFT_CHARS_MAX, type Drafts, DRAFTS_MAX, withDraft, withoutSecrets } from "./drafts.ts";

test("drafts are kept up to the limit, and one more drops the oldest", () => {
  let drafts: Drafts = [];
  for (let each = 1; each <= DRAFTS_MAX + 1; each += 1) drafts = withDraft(drafts, String(each), { it: "x" });
  expect([drafts.length, drafts[0]?.[0], drafts.at(-1)?.[0]]).toEqual([DRAFTS_MAX, "2", String(DRAFTS_MAX + 1)]);
  // A draft that changes becomes the newest, and is stored once.
  expect(withDraft(drafts, "2", { it: "y" }).at(-1)).toEqual(["2", { it: "y" }]);
  expect(withDraft(drafts, "2", { it: "y" })).toHaveLength(DRAFTS_MAX);
});

test("characters are kept up to the limit; one more drops the oldest, and a draft that is too large by itself is not kept", () => {
  const around = JSON.stringify([["a", { it: "" }]]).length;
  const full = "x".repeat(DRAFT_CHARS_MAX - around);
  expect(withDraft([], "a", { it: full })).toHaveLength(1);
  expect(withDraft([], "a", { it: `${full}x` })).toEqual([]);
  expect(withDraft([["a", { it: full }]], "b", { it: "new" })).toEqual([["b", { it: "new" }]]);
});

test("secrets are never kept", () => {
  const inputs = inputsOf({
    type: "object",
    properties: { name: { type: "string" }, pin: { type: "string", writeOnly: true }, word: { type: "string", format: "password" } },
  });
  expect(withoutSecrets({ name: "Ann", pin: "1234", word: "hunter2" }, inputs)).toEqual({ name: "Ann" });
});
