/** At most `max` characters; `…` shows that there were more. A character outside the basic plane, such as an emoji, is not cut in half. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)}…`;
}
