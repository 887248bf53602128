/**
 * Splits a stream of bytes into lines of bounded length. A longer line is reported once and skipped to its end without being buffered, so that one bad
 * message does not end the conversation.
 */
export interface LineReader {
  readonly bytesMax: number;
  onLine(text: string): void;
  /** Called for a line that is not UTF-8 or is too long. */
  onBad(problem: string): void;
}

const NEWLINE = 0x0a;

/** Takes chunks in order, wherever they split the lines. Text after the last newline is not a line yet. */
export function lineReader({ bytesMax, onLine, onBad }: LineReader): (chunk: Buffer) => void {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  // Joined once per line: joining at each chunk would copy a long line repeatedly.
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
