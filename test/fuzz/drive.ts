/**
 * Sends the given number of cases through a door. A case that breaks a rule is shrunk and reported; later cases with the same finding are
 * ignored.
 */
import fc from "fast-check";
import type { OpenDoor } from "./door.ts";
import { Broken, type ReplyRule } from "./rules.ts";
import { SetUpFailed } from "./wire/caller.ts";

export interface Drive {
  readonly name: string;
  readonly requests: number;
  readonly seed: number;
  /** Of a finding: that one case, and nothing else. */
  readonly path?: string | undefined;
  /** False once nothing that is sent means anything any more, or the run is to end. */
  readonly isAlive: () => boolean;
  /** Called with each finding, once it is shrunk. */
  readonly found: (finding: Finding) => void;
}

export interface Finding {
  readonly door: string;
  readonly rule: ReplyRule;
  readonly kind: string;
  readonly changes: readonly string[];
  readonly what: string;
  /** What has it again. */
  readonly seed: number;
  readonly path: string;
  readonly shrunk: string;
  readonly shrinks: number;
}

export interface Driven {
  readonly requests: number;
  readonly findings: readonly Finding[];
}

/** More than this is one broken thing in many guises. */
const FINDINGS_MAX = 12;
/** Cases of one seed. A run that is to end early draws no more than the rest of them. */
const ROUND_MAX = 2_000;
/** What hangs takes five seconds with each step of shrinking. */
const SHRINK_MS = 15_000;
const SHOWN_CHARS = 2_500;

export async function drive<Case>(opened: OpenDoor<Case>, { name, requests, seed, path, isAlive, found }: Drive): Promise<Driven> {
  const findings: Finding[] = [];
  let sent = 0;
  let round = 0;
  while (sent < requests && findings.length < FINDINGS_MAX && isAlive()) {
    const roundSeed = (seed + round * 7_919) | 0;
    round += 1;
    let first: Broken | undefined;
    let firstAtMs = 0;
    let passed = 0;
    const property = fc.asyncProperty(opened.cases, async (drawn) => {
      if (!isAlive()) return;
      if (first) {
        if (performance.now() - firstAtMs > SHRINK_MS) return;
      } else {
        passed += 1;
      }
      try {
        await opened.send(drawn);
      } catch (thrown) {
        const broken = asBroken(thrown);
        if (findings.some((known) => covers(known, broken))) return;
        if (first && first.rule !== broken.rule) return;
        first ??= broken;
        firstAtMs ||= performance.now();
        throw broken;
      }
    });
    const details = await fc.check(property, {
      seed: roundSeed,
      numRuns: path === undefined ? Math.min(requests - sent, ROUND_MAX) : 1,
      ...(path !== undefined && { path, endOnFailure: true }),
    });
    sent += passed;
    if (!details.failed && path === undefined) continue;
    if (!details.failed) break;
    if (details.counterexample === null) throw details.errorInstance ?? new Error(`door ${name} ended without a case`);
    const broken = asBroken(details.errorInstance);
    const finding = {
      door: name,
      rule: broken.rule,
      kind: broken.kind,
      changes: broken.changes,
      what: broken.message,
      seed: roundSeed,
      path: details.counterexamplePath ?? "0",
      shrunk: short(fc.stringify(details.counterexample[0])),
      shrinks: details.numShrinks,
    };
    findings.push(finding);
    found(finding);
    if (path !== undefined) break;
  }
  return { requests: sent, findings };
}

/** Rules that one flaw breaks wherever it shows. */
const BY_KIND = new Set<ReplyRule>(["leak", "size", "closing"]);

/** The same rule broken by the same kind of request, with nothing but more changes. */
function covers(known: Finding, { rule, kind, changes }: Broken): boolean {
  return known.rule === rule && known.kind === kind && (BY_KIND.has(rule) || known.changes.every((change) => changes.includes(change)));
}

function asBroken(thrown: unknown): Broken {
  if (thrown instanceof Broken) return thrown;
  if (thrown instanceof SetUpFailed) return new Broken("wrongly-refused", { kind: "set-up", changes: [], what: thrown.message });
  throw thrown;
}

function short(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}… (${text.length} characters)` : text;
}
