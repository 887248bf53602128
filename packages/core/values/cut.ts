/**
 * Cuts a string to at most `max` characters, with `…` at the end if something was cut. Never splits a surrogate pair,
 * such as an emoji.
 */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)}…`;
}
