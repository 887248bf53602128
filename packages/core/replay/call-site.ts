/** Where the code of a tool called ctx: file and line, for errors. */

const FRAMES_MAX = 20;

/** Code of Parley, which an author cannot change. */
const OWN = ["core", "sdk", "node"].flatMap((name) => [`/packages/${name}/`, `/@parley/${name}/`]);

export interface CallSite {
  /** `/app/tools/dinner.ts:12:30`; undefined if no frame is of a tool. Formats the stack. */
  place(): string | undefined;
}

/** Takes the stack and formats it only when asked. */
export function callSite(): CallSite {
  const limit = Error.stackTraceLimit;
  const at: { readonly stack?: unknown } = {};
  try {
    Error.stackTraceLimit = FRAMES_MAX;
    Error.captureStackTrace(at, callSite);
  } finally {
    Error.stackTraceLimit = limit;
  }
  return { place: () => placeIn(at.stack) };
}

function placeIn(stack: unknown): string | undefined {
  // An author's own prepareStackTrace may have returned anything.
  if (typeof stack !== "string") return undefined;
  const frame = stack.split("\n").find((line) => line.startsWith("    at ") && isOfAuthor(line.replaceAll("\\", "/")));
  const place = frame && (/\(([^()]+)\)$/.exec(frame)?.[1] ?? frame.slice("    at ".length));
  return place && withoutQuery(place.replace(/^async /, "").replace(/^file:\/\//, ""));
}

/** A module that is loaded once more has a query in its name. */
function withoutQuery(place: string): string {
  const [path = "", ...query] = place.split("?");
  return query.length === 0 ? place : [path, ...query.join("?").split(":").slice(-2)].join(":");
}

/** Whether the line of a stack, or the name of a script, is of a tool. */
export function isOfAuthor(frame: string): boolean {
  if (frame.includes("node:") || frame.includes("<anonymous>")) return false;
  return frame.includes(".test.") || !OWN.some((path) => frame.includes(path));
}
