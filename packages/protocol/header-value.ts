/** Single header values, and MCP's `=?base64?…?=` form of values that HTTP cannot carry directly. */

/** Header names are in lower case, as in Node. */
export type Headers = { readonly [name: string]: string | readonly string[] | undefined };

const PREFIX = "=?base64?";
const SUFFIX = "?=";
/** Node's decoder drops invalid characters silently, so alphabet and padding are checked first. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The value without surrounding blanks. A repeated header is joined as HTTP specifies, and then matches no expected value. */
export function headerValue(headers: Headers, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (value === undefined) return undefined;
  return withoutBlanks(typeof value === "string" ? value : value.join(", "));
}

/** No regular expression: `[ \t]+$` is tried at each blank in the text, and 14 kB of blanks would take a second. */
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

/** The decoded value; undefined if the base64 or its UTF-8 is invalid. */
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
