/** Single header values, and MCP's `=?base64?…?=` form of those that HTTP cannot carry as they are. */

/** Header names in lower case, as Node gives them. */
export type Headers = { readonly [name: string]: string | readonly string[] | undefined };

const PREFIX = "=?base64?";
const SUFFIX = "?=";
/** Node decodes anything and drops what it does not know, so alphabet and padding are checked first. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value without the blanks around it. A header that came twice is joined as HTTP says, and then equals nothing. */
export function headerValue(headers: Headers, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) return undefined;
  return withoutBlanks(typeof value === "string" ? value : value.join(", "));
}

/** Without a pattern: `[ \t]+$` starts at each blank within the text, and 14 kB of them would take a second. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The value as a header can carry it. */
export function encodeHeaderValue(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith(PREFIX);
  return plain ? text : `${PREFIX}${Buffer.from(text).toString("base64")}${SUFFIX}`;
}

/** What the value stands for; `undefined` for bad base64 or bytes that are no UTF-8. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!(value.startsWith(PREFIX) && value.endsWith(SUFFIX) && value.length >= PREFIX.length + SUFFIX.length)) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return utf8.decode(Buffer.from(encoded, "base64"));
  } catch {
    return undefined;
  }
}
