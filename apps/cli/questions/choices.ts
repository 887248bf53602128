/** Choices at a terminal. What is pasted chooses nothing (paste.ts). */
import * as prompts from "@clack/prompts";
import { withoutPaste } from "./paste.ts";

export const confirm: typeof prompts.confirm = (options) => withoutPaste(() => prompts.confirm(options));
export const select: typeof prompts.select = (options) => withoutPaste(() => prompts.select(options));
export const multiselect: typeof prompts.multiselect = (options) => withoutPaste(() => prompts.multiselect(options));
