import { createReadStream } from "node:fs";

/**
 * The lines of a file of JSON lines, without their newlines. node:readline does not fit: it also ends a line at U+2028 and U+2029, which JSON
 * leaves in texts as they are.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  let parts: string[] = [];
  for await (const chunk of createReadStream(file, "utf8") as AsyncIterable<string>) {
    const [first = "", ...others] = chunk.split("\n");
    parts.push(first);
    for (const other of others) {
      yield parts.join("");
      parts = [other];
    }
  }
  const last = parts.join("");
  if (last !== "") yield last;
}
