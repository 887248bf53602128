/**
 * A text as a QR code: bytes, error correction of level M, in the smallest version that holds it. Source: ISO/IEC 18004.
 *
 *   bytes ─▶ bits with their length ─▶ blocks, each with its correction ─▶ interleaved ─▶ zigzag over the free modules ─▶ masked
 */

/** By version: codewords of correction in each block, and blocks. */
const CORRECTION = [
  10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 28,
];
const BLOCKS = [
  1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45,
  47, 49,
];
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Rows of modules, true for dark ones, without the light border around them. Undefined for a text of more bytes than a code can have (2,331). */
export function qrOf(text: string): readonly (readonly boolean[])[] | undefined {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex((_, index) => 4 + lengthBits(index + 1) + 8 * bytes.length <= 8 * capacityOf(index + 1)) + 1;
  if (version === 0) return undefined;
  const { modules, isFree } = frameOf(version);
  place(modules, isFree, codewordsOf(bytes, version));
  const candidates = MASKS.map((mask, index) => masked(modules, isFree, { mask, index }));
  const penalties = candidates.map(penaltyOf);
  return candidates[penalties.indexOf(Math.min(...penalties))];
}

function lengthBits(version: number): number {
  return version < 10 ? 8 : 16;
}

function codewordsIn(version: number): number {
  const aligned = version < 2 ? 0 : Math.floor(version / 7) + 2;
  const bits = (16 * version + 128) * version + 64 - (aligned === 0 ? 0 : (25 * aligned - 10) * aligned - 55) - (version < 7 ? 0 : 36);
  return Math.floor(bits / 8);
}

/** Codewords of data. */
function capacityOf(version: number): number {
  return codewordsIn(version) - (CORRECTION[version - 1] ?? 0) * (BLOCKS[version - 1] ?? 0);
}

function codewordsOf(bytes: Uint8Array, version: number): readonly number[] {
  const capacity = capacityOf(version);
  const bits: number[] = [];
  const add = (value: number, count: number) => {
    for (let at = count - 1; at >= 0; at -= 1) bits.push((value >>> at) & 1);
  };
  add(4, 4);
  add(bytes.length, lengthBits(version));
  for (const byte of bytes) add(byte, 8);
  add(0, Math.min(4, 8 * capacity - bits.length));
  add(0, -bits.length & 7);
  const data = Array.from({ length: bits.length / 8 }, (_, at) => Number.parseInt(bits.slice(8 * at, 8 * at + 8).join(""), 2));
  for (let pad = 0xec; data.length < capacity; pad ^= 0xec ^ 0x11) data.push(pad);

  const [count = 1, each = 0] = [BLOCKS[version - 1], CORRECTION[version - 1]];
  const short = Math.floor(capacity / count);
  const longFrom = count - (capacity % count);
  const blocks = Array.from({ length: count }, (_, at) => {
    const from = at * short + Math.max(0, at - longFrom);
    return data.slice(from, from + short + (at >= longFrom ? 1 : 0));
  });
  const divisor = divisorOf(each);
  const corrections = blocks.map((block) => remainderOf(block, divisor));
  const interleaved = (rows: readonly (readonly number[])[]) =>
    Array.from({ length: Math.max(...rows.map(({ length }) => length)) }, (_, at) => rows.flatMap((row) => row[at] ?? [])).flat();
  return [...interleaved(blocks), ...interleaved(corrections)];
}

/** In the field of 256 elements. */
function product(a: number, b: number): number {
  let result = 0;
  for (let bit = 7; bit >= 0; bit -= 1) result = (result << 1) ^ ((result >>> 7) * 0x1_1d) ^ (((b >>> bit) & 1) * a);
  return result;
}

function divisorOf(degree: number): readonly number[] {
  let divisor = [1];
  for (let at = 0, root = 1; at < degree; at += 1, root = product(root, 2))
    divisor = [...divisor, 0].map((each, index) => each ^ (index === 0 ? 0 : product(divisor[index - 1] ?? 0, root)));
  return divisor.slice(1);
}

function remainderOf(data: readonly number[], divisor: readonly number[]): readonly number[] {
  let rest = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (rest[0] ?? 0);
    rest = [...rest.slice(1), 0].map((each, index) => each ^ product(divisor[index] ?? 0, factor));
  }
  return rest;
}

type Modules = boolean[][];

interface Frame {
  readonly modules: Modules;
  /** Where codewords go. */
  readonly isFree: Modules;
}

/** What is the same in all codes of a version. */
function frameOf(version: number): Frame {
  const size = 4 * version + 17;
  const grid = (value: boolean): Modules => Array.from({ length: size }, () => Array.from({ length: size }, () => value));
  const frame = { modules: grid(false), isFree: grid(true) };
  const set = (x: number, y: number, isDark: boolean) => draw(frame, { x, y, isDark });
  for (let at = 0; at < size; at += 1) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [cx, cy] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    for (let dy = -4; dy <= 4; dy += 1)
      for (let dx = -4; dx <= 4; dx += 1) {
        const distance = Math.max(Math.abs(dx), Math.abs(dy));
        set(cx + dx, cy + dy, distance !== 2 && distance !== 4);
      }
  const centers = alignmentOf(version);
  for (const [row, cy] of centers.entries())
    for (const [column, cx] of centers.entries()) {
      const last = centers.length - 1;
      // There are the large ones.
      if ((row === 0 && column === 0) || (row === 0 && column === last) || (row === last && column === 0)) continue;
      for (let dy = -2; dy <= 2; dy += 1)
        for (let dx = -2; dx <= 2; dx += 1) set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  writeFormat(frame, 0);
  if (version >= 7) {
    const bits = (version << 12) | checked(version, 12, 0x1f_25);
    for (let at = 0; at < 18; at += 1) {
      const [far, near] = [size - 11 + (at % 3), Math.floor(at / 3)];
      set(far, near, ((bits >>> at) & 1) === 1);
      set(near, far, ((bits >>> at) & 1) === 1);
    }
  }
  return frame;
}

function draw({ modules, isFree }: Frame, { x, y, isDark }: { readonly x: number; readonly y: number; readonly isDark: boolean }): void {
  const [row, free] = [modules[y], isFree[y]];
  if (!row || !free || x < 0 || x >= row.length) return;
  row[x] = isDark;
  free[x] = false;
}

function alignmentOf(version: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => 4 * version + 10 - step * (count - 2 - at))];
}

/** The remainder that makes errors in the value visible. */
function checked(value: number, bits: number, divisor: number): number {
  let rest = value;
  for (let at = 0; at < bits; at += 1) rest = (rest << 1) ^ ((rest >>> (bits - 1)) * divisor);
  return rest;
}

/** Level M and the mask, twice. */
function writeFormat(frame: Frame, mask: number): void {
  const size = frame.modules.length;
  const bits = ((mask << 10) | checked(mask, 10, 0x5_37)) ^ 0x54_12;
  for (let at = 0; at < 15; at += 1) {
    const isDark = ((bits >>> at) & 1) === 1;
    const beside = at < 6 ? at : at < 8 ? at + 1 : size - 15 + at;
    const below = at < 8 ? size - 1 - at : at === 8 ? 7 : 14 - at;
    draw(frame, { x: 8, y: beside, isDark });
    draw(frame, { x: below, y: 8, isDark });
  }
  draw(frame, { x: 8, y: size - 8, isDark: true });
}

/** From the right, two columns at a time, up and down in turn. */
function place(modules: Modules, isFree: Modules, codewords: readonly number[]): void {
  const size = modules.length;
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1)
      for (const x of [right, right - 1]) {
        const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
        const row = modules[y];
        if (!row || isFree[y]?.[x] !== true) continue;
        row[x] = (((codewords[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1) === 1;
        at += 1;
      }
  }
}

function masked(
  modules: Modules,
  isFree: Modules,
  { mask, index }: { readonly mask: (typeof MASKS)[number]; readonly index: number },
): Modules {
  const made = modules.map((row, y) => row.map((isDark, x) => (isFree[y]?.[x] === true && mask(x, y) ? !isDark : isDark)));
  writeFormat({ modules: made, isFree: isFree.map((row) => [...row]) }, index);
  return made;
}

/** How hard it is to read: long runs of one colour, areas of one colour, and more of one colour than of the other. */
function penaltyOf(modules: Modules): number {
  const columns = modules.map((_, x) => modules.map((row) => row[x] === true));
  let penalty = 0;
  for (const line of [...modules, ...columns]) {
    const text = line.map((isDark) => (isDark ? "1" : "0")).join("");
    for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2;
    penalty += 40 * (text.match(/(?=10111010000|00001011101)/g)?.length ?? 0);
  }
  for (const [y, row] of modules.entries())
    for (const [x, isDark] of row.entries())
      if (y > 0 && x > 0 && row[x - 1] === isDark && modules[y - 1]?.[x] === isDark && modules[y - 1]?.[x - 1] === isDark) penalty += 3;
  const dark = modules.flat().filter(Boolean).length;
  return penalty + 10 * Math.floor(Math.abs((20 * dark) / modules.length ** 2 - 10));
}
