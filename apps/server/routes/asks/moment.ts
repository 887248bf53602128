/** A moment in the markup of a page, as the person's clock shows it. */
import { momentText, type Reader } from "../../texts/texts.ts";
import { type Html, markup } from "./html.ts";

export function moment(reader: Reader, ms: number): Html {
  return timeTag(ms, momentText(reader, ms));
}

export function timeTag(ms: number, text: string): Html {
  return markup`<time datetime="${new Date(ms).toISOString()}">${text}</time>`;
}
