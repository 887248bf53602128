import { expect, test } from "vitest";
import { ASKED_AGAIN, filesHereWords, ownWords, stepWords } from "./own-words.ts";

test.each([
  ["Who?", { said: "Who?" }],
  ["", { said: "" }],
  ["One\n\nTwo", { said: "One\n\nTwo" }],
  [`Who?\n\n${stepWords({ number: 1, count: 3, canGoBack: false })}`, { said: "Who?", step: { number: 1, count: 3, canGoBack: false } }],
  [
    `One\n\nTwo\n\n${stepWords({ number: 12, count: 12, canGoBack: true })}${ASKED_AGAIN}City: is required`,
    { said: "One\n\nTwo", step: { number: 12, count: 12, canGoBack: true }, problem: "City: is required" },
  ],
  [stepWords({ number: 1, count: 2, canGoBack: false }), { said: "", step: { number: 1, count: 2, canGoBack: false } }],
  [`Send it.\n\n${filesHereWords(["a.pdf", "b.pdf"])}`, { said: "Send it.", filesHere: "a.pdf, b.pdf" }],
  // An author's own words, which only look like these.
  ["Go on\n\nStep 1 of 3. Take the key.", { said: "Go on\n\nStep 1 of 3. Take the key." }],
  ["Go on\n\nStep 01 of 3.", { said: "Go on\n\nStep 01 of 3." }],
  ["a.pdf is here already. Send another file to replace it, or answer the form to keep it.", { said: filesHereWords(["a.pdf"]) }],
  [`Twice${ASKED_AGAIN}one${ASKED_AGAIN}two`, { said: `Twice${ASKED_AGAIN}one`, problem: "two" }],
])("what was added to %j is told from the author's words", (message, words) =>
  expect(ownWords(message, { isAgain: true, isForFiles: true })).toEqual(words),
);

test("of what is not asked again, and asks for no files, all is the author's words", () => {
  const caller = filesHereWords(["a.pdf"]);
  for (const message of [`Pay Bob${ASKED_AGAIN}no\nall of it?`, `Delete it?\n\nAll of 2025, because ${caller}`])
    expect(ownWords(message, { isAgain: false, isForFiles: false })).toEqual({ said: message });
});
