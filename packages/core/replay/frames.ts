/** Stacks and frames: which functions are running, as V8 shows them. */

/** A call site as V8 gives it, with four methods that its types lack. Each of them takes V8 a while. */
export interface CallSite extends NodeJS.CallSite {
  getEnclosingLineNumber(): number | null;
  getEnclosingColumnNumber(): number | null;
  getPosition(): number;
  isAsync(): boolean;
}

/** If others follow promises too, Node.js calls all of them from here. */
const HOOKS = "node:internal/promise_hooks";
const HOOKS_FRAMES = 2;
/** As it was the last time: a second look at the stack costs as much as the first. */
let areOthersFollowing = false;

const keepSites = (_error: Error, sites: readonly NodeJS.CallSite[]) => sites;

/** The innermost frames above `below`. */
export function frames(limit: number, below: (...given: never[]) => unknown): readonly CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.prepareStackTrace = keepSites;
    const sites = sitesAbove(areOthersFollowing ? limit + HOOKS_FRAMES : limit, below);
    const isComplete = areOthersFollowing;
    areOthersFollowing = sites.some(isOfHooks);
    if (!areOthersFollowing) return sites.slice(0, limit);
    return (isComplete ? sites : sitesAbove(limit + HOOKS_FRAMES, below)).filter((site) => !isOfHooks(site));
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function sitesAbove(limit: number, below: (...given: never[]) => unknown): readonly CallSite[] {
  Error.stackTraceLimit = limit;
  const at = {} as { readonly stack: readonly CallSite[] };
  Error.captureStackTrace(at, below);
  return at.stack;
}

function isOfHooks(site: CallSite): boolean {
  return site.getScriptNameOrSourceURL() === HOOKS;
}

/** Whether it is code of V8. Code that was compiled from a text has no script name, but lines. */
export function isBuiltin(site: CallSite): boolean {
  return !site.getScriptNameOrSourceURL() && site.getLineNumber() === null;
}

/** Whether it is code of Node.js. */
export function isOfNode(site: CallSite): boolean {
  return site.getScriptNameOrSourceURL()?.startsWith("node:") === true;
}

export function nameOf(site: CallSite): string {
  return site.getFunctionName() ?? "";
}

/** Identifies the function, not the call. */
export function codeOf(site: CallSite): string {
  if (isBuiltin(site)) return nameOf(site);
  return `${site.getScriptNameOrSourceURL()}:${site.getEnclosingLineNumber()}:${site.getEnclosingColumnNumber()}`;
}

/** Of a deeper stack it is not known what lies below. Longer chains of functions that await one another do not matter. */
const DEPTH_MAX = 1_000;

/** The functions that are running, the innermost first, without those that await them. Undefined if there are too many. */
export function stack(below: (...given: never[]) => unknown): readonly CallSite[] | undefined {
  const sites = frames(DEPTH_MAX, below);
  const running = sites.filter((site) => !site.isAsync());
  return running.length < DEPTH_MAX ? running : undefined;
}

/** The places in Node.js from which the running code was called: `""` for code that V8 has called from nowhere. Undefined if it lies too deep. */
export function calledFrom(below: (...given: never[]) => unknown): string | undefined {
  const called = stack(below);
  if (!called) return undefined;
  const inNode = called.slice(called.findLastIndex((site) => !isOfNode(site)) + 1);
  return inNode.map((site) => `${site.getScriptNameOrSourceURL()}:${site.getPosition()}`).join(" ");
}
