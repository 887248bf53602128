import { expect, test } from "vitest";
import { plainName, plainPath } from "./plain-name.ts";

test.each([
  ["partySize", "Party size"],
  ["party_size", "Party size"],
  ["party-size", "Party size"],
  ["PartySize", "Party size"],
  ["when", "When"],
  ["apiURL", "Api URL"],
  ["URLOfPage", "URL of page"],
  ["line2", "Line2"],
  ["x", "X"],
  ["__", "__"],
  ["_private", "_private"],
  ["trailing_", "Trailing"],
  ["E-mail (work)", "E-mail (work)"],
  ["Größe", "Größe"],
  ["日付", "日付"],
  ["two words", "two words"],
  ["", ""],
  ["constructor", "Constructor"],
])("%j is read as %j", (name, read) => {
  expect(plainName(name)).toBe(read);
});

test.each([
  [["guests", "1", "firstName"], "Guests 1 first name"],
  [["E-mail (work)", "apiURL"], "E-mail (work) api URL"],
  [["answer"], "Answer"],
])("the way %j is read as %j", (names, read) => {
  expect(plainPath(names)).toBe(read);
});
