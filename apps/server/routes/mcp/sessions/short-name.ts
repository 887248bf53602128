import type { Services } from "@parley/core";

const NAME_CHARS = 64;

/**
 * A name for any text from a client in the fields of its session, where a long text has its digest. Scripts read the names of all fields, of
 * which there may be thousands.
 */
export function shortName({ digest }: Pick<Services, "digest">, text: string): string {
  return text.length <= NAME_CHARS ? text : `#${digest(text)}`;
}
