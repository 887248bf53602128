/** The query of a request's address, without its question mark. Later question marks are part of it (RFC 3986, 3.4). */
export function queryOf({ url }: { readonly url: string }): string {
  const mark = url.indexOf("?");
  return mark === -1 ? "" : url.slice(mark + 1);
}
