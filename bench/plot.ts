/** Draws a line chart as SVG. Both axes may be logarithmic, and each series is labelled at its end. */
export interface Chart {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

export interface Axis {
  readonly label: string;
  readonly logarithmic: boolean;
}

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

const WIDTH = 720;
const HEIGHT = 400;
const LEFT = 70;
const RIGHT = 190;
const TOP = 44;
const BOTTOM = 52;
// Told apart with and without colour vision, on white and in print.
const COLOURS = ["#0072b2", "#d55e00", "#6a6a6a", "#009e73"];
const FONT = "font-family='system-ui, sans-serif'";

export function drawChart({ title, x, y, series }: Chart): string {
  const all = series.flatMap(({ points }) => points);
  const across = scale(
    x,
    all.map(([value]) => value),
    [LEFT, WIDTH - RIGHT],
  );
  const up = scale(
    y,
    all.map(([, value]) => value),
    [HEIGHT - BOTTOM, TOP],
  );
  const middle = { x: (LEFT + WIDTH - RIGHT) / 2, y: (TOP + HEIGHT - BOTTOM) / 2 };
  const parts = [
    `<text x="${LEFT}" y="24" font-size="15" font-weight="600">${escaped(title)}</text>`,
    ...up.ticks.map(
      (tick) =>
        `<path d="M${LEFT} ${up.at(tick)}H${WIDTH - RIGHT}" stroke="#dddddd"/><text x="${LEFT - 8}" y="${up.at(tick) + 4}" text-anchor="end">${told(tick)}</text>`,
    ),
    ...across.ticks.map(
      (tick) =>
        `<path d="M${across.at(tick)} ${HEIGHT - BOTTOM}v5" stroke="#555555"/><text x="${across.at(tick)}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle">${told(tick)}</text>`,
    ),
    `<path d="M${LEFT} ${HEIGHT - BOTTOM}H${WIDTH - RIGHT}" stroke="#555555"/>`,
    `<text x="${middle.x}" y="${HEIGHT - 10}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(16 ${middle.y}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
    ...names(series, up.at),
  ];
  for (const [index, { points }] of series.entries()) {
    const colour = COLOURS[index % COLOURS.length];
    const places = points.map(([px, py]) => `${across.at(px)},${up.at(py)}`);
    parts.push(`<polyline points="${places.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const [px, py] of points)
      parts.push(
        `<circle cx="${across.at(px)}" cy="${up.at(py)}" r="3.5" fill="${colour}"><title>${told(px)}: ${told(py)}</title></circle>`,
      );
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" font-size="12" fill="#222222" ${FONT}>\n<title>${escaped(title)}</title>\n<rect width="100%" height="100%" fill="#ffffff"/>\n${parts.join("\n")}\n</svg>\n`;
}

/** Beside the last point of each series, moved apart where two would meet. */
function names(series: readonly Series[], at: (value: number) => number): string[] {
  const placed = series.map(({ name, points }, index) => ({ name, index, y: at(points.at(-1)?.[1] ?? 0) })).toSorted((a, b) => a.y - b.y);
  let above = Number.NEGATIVE_INFINITY;
  return placed.map(({ name, index, y }) => {
    above = Math.max(y + 4, above + 16);
    return `<text x="${WIDTH - RIGHT + 12}" y="${above}" fill="${COLOURS[index % COLOURS.length]}" font-weight="600">${escaped(name)}</text>`;
  });
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

function scale({ logarithmic }: Axis, values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const highest = Math.max(...values);
  const ticks = logarithmic ? powers(Math.min(...values), highest) : steps(highest);
  const [first = 0, last = 1] = [ticks[0], ticks.at(-1)];
  const place = logarithmic ? Math.log10 : (value: number) => value;
  const [low, high] = [place(first), place(last)];
  return { ticks, at: (value) => Math.round((from + ((place(value) - low) / (high - low || 1)) * (to - from)) * 10) / 10 };
}

/** 1, 10, 100 … around the values. */
function powers(lowest: number, highest: number): number[] {
  const first = Math.floor(Math.log10(lowest));
  const last = Math.max(first + 1, Math.ceil(Math.log10(highest)));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

/** From 0 in four to eight even steps. */
function steps(highest: number): number[] {
  const rough = highest / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, index) => index * step);
}

function told(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
