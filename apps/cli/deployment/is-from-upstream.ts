import { readUpstreams } from "@parley/gateway/every-process";

/** Whether a tool or prompt is an upstream's: these are in no module, and their names begin with the prefix of their upstream. */
export function ofUpstreams(file: string | undefined): (name: string) => boolean {
  const prefixes = file ? readUpstreams(file).map(({ prefix }) => prefix) : [];
  return (name) => prefixes.some((prefix) => name.startsWith(prefix));
}
