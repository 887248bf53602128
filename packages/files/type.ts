/**
 * What a file is, by its first bytes; and whether that is asked for. What a browser says of a file counts only where bytes cannot tell: a text, and kinds
 * that are an archive or a document of another kind inside.
 */
/** What has to be seen of a file to know it. */
export const HEAD_BYTES = 4_100;

export interface Declared {
  readonly name: string;
  readonly type: string;
}

/** What bytes show to be one of these may be something of a kind that is made of it. */
const CONTAINERS: ReadonlySet<string> = new Set([
  "application/zip",
  "application/x-cfb",
  "application/gzip",
  "application/xml",
  "application/x-ole-storage",
]);
const SAME_ENDING: Readonly<Record<string, string>> = { jpeg: "jpg", tiff: "tif", htm: "html", mpeg: "mpg" };
const TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;

/** The file's type; undefined when it is not one that is asked for. */
export async function acceptedType(head: Uint8Array, declared: Declared, accept: readonly string[]): Promise<string | undefined> {
  // Most processes never see a file, and this is much to load.
  const { fileTypeFromBuffer, supportedExtensions, supportedMimeTypes } = await import("file-type");
  const seen = await fileTypeFromBuffer(head);
  const said = { type: declaredType(declared.type), ending: endingOf(declared.name) };
  if (seen && !CONTAINERS.has(seen.mime)) return isAsked({ type: seen.mime, ending: seen.ext }, accept) ? seen.mime : undefined;
  if (seen && isAsked({ type: seen.mime, ending: seen.ext }, accept)) return seen.mime;
  // Its bytes would show what it is, if it were that.
  if (!seen && (supportedMimeTypes.has(said.type as never) || supportedExtensions.has(said.ending as never)) && !isText(said.type)) {
    return accept.length === 0 ? "application/octet-stream" : undefined;
  }
  return isAsked(said, accept) ? said.type : undefined;
}

function isAsked({ type, ending }: { readonly type: string; readonly ending: string }, accept: readonly string[]): boolean {
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
