/** How this process handles what it sends to Redis and receives: as text, or as bytes in a string with one character per byte. */
export type Encoding = "utf8" | "latin1";

export function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- every byte below 128, NUL included
  return !/[^\x00-\x7f]/.test(text);
}
