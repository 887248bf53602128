/**
 * Determines the type of a file from its first bytes, and whether that type is accepted. The type that the browser declares counts only if the
 * bytes cannot tell: for text, and for types that are an archive or a document of another type inside.
 */

/** Number of leading bytes that are needed to determine a type. */
export const HEAD_BYTES = 4_100;

export interface Declared {
  readonly name: string;
  readonly type: string;
}

/** A file whose bytes show one of these types may be of another type that is based on it. */
const CONTAINERS: ReadonlySet<string> = new Set([
  "application/zip",
  "application/x-cfb",
  "application/gzip",
  "application/xml",
  "application/x-ole-storage",
]);
const SAME_ENDING: Readonly<Record<string, string>> = { jpeg: "jpg", tiff: "tif", htm: "html", mpeg: "mpg" };
const TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;

/** Resolves to the file's type, or to undefined if that type is not accepted. An empty `accept` accepts any type. */
export async function acceptedType(head: Uint8Array, declared: Declared, accept: readonly string[]): Promise<string | undefined> {
  // Loaded on demand: the module is large, and most processes never see a file.
  const { fileTypeFromBuffer, supportedExtensions, supportedMimeTypes } = await import("file-type");
  const seen = await fileTypeFromBuffer(head);
  const declaredAs = { type: declaredType(declared.type), ending: endingOf(declared.name) };
  if (seen && !CONTAINERS.has(seen.mime)) return isAccepted({ type: seen.mime, ending: seen.ext }, accept) ? seen.mime : undefined;
  if (seen && isAccepted({ type: seen.mime, ending: seen.ext }, accept)) return seen.mime;
  // The bytes would show the declared type if it were true.
  if (
    !seen &&
    (supportedMimeTypes.has(declaredAs.type as never) || supportedExtensions.has(declaredAs.ending as never)) &&
    !isText(declaredAs.type)
  ) {
    return accept.length === 0 ? "application/octet-stream" : undefined;
  }
  return isAccepted(declaredAs, accept) ? declaredAs.type : undefined;
}

function isAccepted({ type, ending }: { readonly type: string; readonly ending: string }, accept: readonly string[]): boolean {
  return (
    accept.length === 0 ||
    accept.some((wanted) => {
      const each = wanted.toLowerCase();
      if (each.startsWith(".")) return sameEnding(each.slice(1)) === sameEnding(ending);
      return each.endsWith("/*") ? type.startsWith(each.slice(0, -1)) : each === type;
    })
  );
}

function isText(type: string): boolean {
  return type.startsWith("text/") || type === "application/json" || type === "application/xml";
}

function declaredType(given: string): string {
  const type = given.split(";")[0]?.trim().toLowerCase() ?? "";
  return TYPE.test(type) ? type : "application/octet-stream";
}

function endingOf(name: string): string {
  return /\.(\w{1,16})$/.exec(name)?.[1]?.toLowerCase() ?? "";
}

function sameEnding(ending: string): string {
  return SAME_ENDING[ending] ?? ending;
}
