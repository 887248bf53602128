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

export interface Lines {
  /** Takes chunks in order, wherever they split the lines. */
  add(chunk: Buffer): void;
  /** The stream has ended: the text after the last newline is a line, too. */
  end(): void;
}

export function lineReader({ bytesMax, onLine, onBad }: LineReader): Lines {
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

  return {
    add(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        add(chunk.subarray(from, at));
        end();
        from = at + 1;
      }
      if (from < chunk.length) add(chunk.subarray(from));
    },
    end,
  };
}
