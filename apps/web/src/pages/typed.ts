/** What a person has typed for a question that can no longer be answered. It stays in sight, so that nothing that was typed is lost without a word. */
import { findAll, make, say } from "./page.ts";

/** Texts that are not as the page brought them, each with the name of its field if there are several. Empty if there is none. */
export function typedText(within: ParentNode | undefined): string {
  const fields = within ? findAll<HTMLInputElement | HTMLTextAreaElement>(TEXTS, within) : [];
  const typed = fields.filter(({ value, defaultValue }) => value.trim() !== "" && value !== defaultValue);
  if (typed.length < 2) return typed[0]?.value ?? "";
  return typed.map(({ labels, value }) => [labels?.[0]?.textContent.trim(), value].filter(Boolean).join(": ")).join("\n");
}

const TEXTS =
  "form.question textarea, form.join textarea, form.question input:not([type=hidden], [type=checkbox], [type=radio], [type=search])";

export function typedView(text: string): HTMLElement {
  const title = make("p", { class: "quiet", text: say("typed") });
  return make("div", {
    class: "typed",
    children: [title, make("p", { class: "words", text, attributes: { dir: "auto", tabindex: "0" } })],
  });
}
