import { correction, generate, mode } from "lean-qr";

const { M } = correction;

/**
 * A text as a QR code, in UTF-8 and with error correction of level M: rows of modules, true for dark ones, without the light border around them. Undefined
 * for a text of more bytes than a code can have (2,331).
 */
export function qrOf(text: string): readonly (readonly boolean[])[] | undefined {
  try {
    const code = generate(mode.bytes(new TextEncoder().encode(text)), { minCorrectionLevel: M, maxCorrectionLevel: M });
    const along = Array.from({ length: code.size }, (_, at) => at);
    return along.map((y) => along.map((x) => code.get(x, y)));
  } catch {
    return undefined;
  }
}
