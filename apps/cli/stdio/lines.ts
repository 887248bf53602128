/**
 * Lines out of a stream of bytes, each at most so many bytes long. A longer one is reported once and passed over up to its end, so that one bad
 * message does not end the conversation; what was read of it is not kept.
 */
export interface LineReader {
  readonly bytesMax: number;
  onLine(text: string): void;
  /** A line that is no text, or too long. */
  onBad(problem: string): void;
}

const NEWLINE = 0x0a;

/** Takes chunks in order, however they cut the lines. What stands behind the last newline is no line yet. */
export function lineReader({ bytesMax, onLine, onBad }: LineReader): (chunk: Buffer) => void {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  // Joined once for each line: joining at each chunk would copy a long line over and over.
  let parts: Buffer[] = [];
  let bytes = 0;

  function end(): void {
    const line = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const tooLong = bytes > bytesMax;
    parts = [];
    bytes = 0;
    if (tooLong || line === undefined) return;
    let text: string;
    try {
      text = utf8.decode(line);
    } catch {
      return onBad("the line is not UTF-8");
    }
    if (text.trim() !== "") onLine(text);
  }

  function add(part: Buffer): void {
    const wasTooLong = bytes > bytesMax;
    bytes += part.length;
    if (bytes <= bytesMax) parts.push(part);
    else if (!wasTooLong) {
      parts = [];
      onBad(`the line is longer than ${bytesMax} bytes`);
    }
  }

  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      end();
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  };
}
