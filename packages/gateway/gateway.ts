/**
 * The gateway in a worker: decides which process executes a run.
 *
 *   a run is due ─▶ does another living process hold the task's call? ─▶ send the run there
 *                └▶ execute it here; a run that leads a call gives its slot back and continues beside the others
 *
 * Runs that lead calls spend their time waiting for an upstream. They therefore take no slot (PARLEY_CONCURRENCY) and are bounded by the calls that
 * a worker may have open (PARLEY_UPSTREAM_CALLS_MAX). A run that was sent stays due until it is taken: the sweep adds it again, and by then its
 * holder has taken it or is known to be dead.
 *
 * When an upstream stops waiting for a question, the question is closed as withdrawn: by its holder, or by any worker once the holder is dead and
 * the call cannot be repeated. A withdrawal is an answer like any other (I2), and the run that it causes reports what became of the call.
 */
import { type Call, type Catalogue, describeError, ParleyError, type RunCause, type RunReport, type Services } from "@parley/core";
import { type CallHolders, createCalls } from "./calls.ts";
import { gate, gates } from "./gate.ts";
import { createHeldTasks } from "./held-tasks.ts";
import { createListers } from "./listers.ts";
import { createOffer, type Listings, type Offer } from "./offer.ts";
import { type Asking, serveReads } from "./reads.ts";
import { prepareSessions } from "./prepared.ts";
import { createQuiet } from "./quiet.ts";
import type { GatewaySettings } from "./settings.ts";
import type { CountedQuestion } from "./questions.ts";
import { createUpstreamFetch } from "./upstream-fetch.ts";
import { createConnector } from "./upstream-session.ts";
import { type Callers, serveTaskless } from "./taskless.ts";
import type { Upstream } from "./upstreams.ts";

/** State that the processes of a deployment share. packages/redis implements it, and memory/share.ts is the readable reference. */
export interface Share extends CallHolders, Asking, Callers {
  holderOf(taskId: string): Promise<"here" | { readonly process: string }>;
  beat(): Promise<boolean>;
  /** Each dead process is reported again, to any process, until its calls were followed up on. */
  takeDead(): Promise<readonly DeadProcess[]>;
  forgetDead(dead: DeadProcess): Promise<void>;
  /** Ends this process's membership. Unless it calls `forgetDead` with what this returns, it is reported as dead. */
  leave(): Promise<DeadProcess>;
  readLists: Listings["read"];
  writeList: Listings["write"];
  lease(upstream: string, ttlMs: number): Promise<boolean>;
  /** Counts questions to a caller. Resolves to how long to wait if they are too many, in which case none is counted, or to 0. */
  takeQuestions(principal: string, count: number, perMinute: number): Promise<number>;
}

/** A process that has stopped beating, or left, and the calls that it held. */
export interface DeadProcess {
  readonly process: string;
  /** Until when the process that took it has time to follow up. Identifies this death: it may live again, and die again. */
  readonly untilMs: number;
  readonly calls: readonly { readonly taskId: string; readonly isFinal: boolean }[];
}

export interface GatewayRun {
  readonly taskId: string;
  readonly run: number;
  readonly cause: RunCause;
  readonly queuedAtMs: number;
  readonly isSecondHand: boolean;
}

export interface GatewayDeps {
  readonly upstreams: readonly Upstream[];
  /** The deployment's own tools, prompts and resources. */
  readonly own: Catalogue;
  readonly services: Pick<Services, "store" | "queue" | "wakeUps" | "clock" | "log" | "settings">;
  readonly share: Share;
  readonly settings: GatewaySettings;
  readonly version: string;
  /** Identifies this deployment among others. */
  readonly deployment: string;
  readonly observer?: GatewayObserver;
}

/** Receives what the metrics count. */
export interface GatewayObserver {
  question(question: CountedQuestion): void;
  callEnded(upstream: string, ms: number): void;
  /** A call was tried without a task, and answered or left to one. */
  taskless(upstream: string, outcome: "answered" | "task"): void;
  /** Whether its lists could be read; undefined if another process reads them. */
  listed(upstream: string, isUp: boolean | undefined): void;
}

export interface Gateway {
  readonly offer: Offer;
  /** Replaces the upstreams. Calls in progress continue at theirs. */
  replace(upstreams: readonly Upstream[]): Promise<void>;
  /** Executes a run, or sends it to the process that holds its call. Resolves when its slot is free. Calls `work` at most once. */
  run(run: GatewayRun, work: (run: GatewayRun) => Promise<RunReport>): Promise<void>;
  /** The run has taken its task, and the handler of that tool or prompt starts. */
  begun(taskId: string, call: Pick<Call, "kind" | "name">): void;
  /** Accepts runs that other processes send. */
  open(work: (run: GatewayRun) => Promise<RunReport>): Promise<void>;
  /** The number of calls that wait for an answer, and of all calls. */
  counts(): { readonly waiting: number; readonly all: number };
  /** Waits up to that long for the open calls, then ends the rest. Returns true if none was left. */
  close(drainMs: number): Promise<boolean>;
}

const BEAT_EVERY_MS = 2_000;
const DRAIN_LOOK_MS = 100;

export async function createGateway(deps: GatewayDeps): Promise<Gateway> {
  const { upstreams, own, services, share, settings, version, deployment, observer } = deps;
  const { wakeUps, clock, log } = services;
  const { fetch, close: closeFetch } = createUpstreamFetch();
  const connector = createConnector({ fetch, version, deployment });
  const quiet = createQuiet();
  const prepared = prepareSessions(connector, { whenQuiet: quiet.whenQuiet });
  let isClosing = false;
  /** The number of runs in progress here, by task, and the functions that give their slots back. */
  const atWork = new Map<string, number>();
  const slots = new Map<string, () => void>();
  const beside = new Set<Promise<void>>();

  const { openMax, principalMax, perMinute } = settings.elicitation;
  /** Without Redis, questions are not counted: an outage must not end calls, whose questions are recorded when it is over. */
  async function questionRate(principal: string, count: number): Promise<number> {
    try {
      return await share.takeQuestions(principal, count, perMinute);
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== "UNAVAILABLE") throw error;
      log.warn(describeError(error), "rate of questions could not be counted");
      return 0;
    }
  }

  const calls = createCalls({
    call: {
      connector: prepared,
      elicitation: settings.elicitation,
      settings: services.settings,
      open: gate(openMax),
      openOf: gates(principalMax),
      ...(perMinute > 0 && { rate: questionRate }),
      count: (question) => observer?.question(question),
      whenQuiet: (work) => quiet.whenQuiet(() => inBackground(work())),
    },
    holders: share,
    callsMax: settings.callsMax,
    onEnded: (upstream, ms) => observer?.callEnded(upstream, ms),
    log,
    onAbandoned(taskId) {
      if (!atWork.has(taskId)) inBackground(tasks.settle(taskId));
    },
  });
  const isAtWork = (taskId: string) => atWork.has(taskId);
  const tasks = createHeldTasks({ calls, services, isAtWork, whenQuiet: quiet.whenQuiet, inBackground });
  const listings: Listings = { read: share.readLists, write: share.writeList };
  const offer = await createOffer({
    own,
    upstreams,
    deployment,
    listings,
    calls,
    elicitation: settings.elicitation,
    onAnnouncement: (listener) => wakeUps.onAnnouncement(listener),
    log,
  });

  // ── runs ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async function here(run: GatewayRun, work: (run: GatewayRun) => Promise<RunReport>): Promise<void> {
    const { taskId } = run;
    atWork.set(taskId, (atWork.get(taskId) ?? 0) + 1);
    const leave = quiet.enter();
    let report: RunReport | undefined;
    try {
      report = await work(run);
    } finally {
      const left = (atWork.get(taskId) ?? 1) - 1;
      if (left > 0) atWork.set(taskId, left);
      else atWork.delete(taskId);
      slots.delete(taskId);
      leave();
      if (left === 0) await tasks.after(taskId, report);
    }
  }

  function inBackground(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => log.warn(describeError(error), "gateway could not follow up on a task"))
      .finally(() => void beside.delete(done));
    beside.add(done);
  }

  // ── signs of life ──────────────────────────────────────────────────────────────────────────────────────────────

  let isMember = false;
  let isGivenUp = false;
  async function beat(): Promise<void> {
    const wasMember = await share.beat();
    isGivenUp ||= isMember && !wasMember;
    isMember = true;
    const dead = await share.takeDead();
    if (isGivenUp || dead.some(({ process }) => process === share.id)) {
      log.warn({ calls: calls.taskIds().length }, "this worker missed its heartbeats and was given up, its calls are ended");
      await Promise.all(calls.taskIds().map((taskId) => tasks.drop(taskId, "lost")));
      isGivenUp = false;
    }
    for (const each of dead) await followUp(each);
    await tasks.look();
  }

  /** If this process dies in the meantime, another one takes the dead process over and withdraws the rest. */
  async function followUp(dead: DeadProcess): Promise<void> {
    for (const { taskId, isFinal } of dead.calls) {
      if (isFinal) await tasks.withdraw(taskId, () => true);
    }
    await share.forgetDead(dead);
  }

  const beats = setInterval(() => inBackground(beat()), BEAT_EVERY_MS);
  beats.unref();
  await beat();
  const listers = createListers({
    connector,
    deployment,
    listings,
    lease: share.lease,
    announce: (announcement) => wakeUps.announce(announcement),
    log,
    onStatus: (upstream, isUp) => observer?.listed(upstream, isUp),
  });
  listers.replace(upstreams);
  const stopReads = await serveReads({ asking: share, connector: prepared, upstreams: listers.upstreams, log });
  const stopTaskless = await serveTaskless({
    post: share,
    calls,
    upstreams: listers.upstreams,
    now: () => clock.now(),
    isClosing: () => isClosing,
    onTried: (upstream, outcome) => observer?.taskless(upstream, outcome),
    inBackground(work) {
      const leave = quiet.enter();
      inBackground(work.finally(leave));
    },
  });
  let stopTaking: (() => void) | undefined;

  return {
    offer,
    counts: calls.counts,
    async replace(given) {
      connector.update(given);
      listers.replace(given);
      await offer.replace(given);
      for (const type of ["tools", "prompts", "resources"] as const) await wakeUps.announce({ type });
    },
    async run(run, work) {
      const { taskId, cause, isSecondHand } = run;
      if ((cause !== "created" || isSecondHand) && !calls.has(taskId)) {
        const holder = await share.holderOf(taskId);
        if (holder !== "here") return void (await share.post("run", holder.process, JSON.stringify(run)));
      }
      const slot = Promise.withResolvers<void>();
      let isFree = false;
      slots.set(taskId, () => {
        isFree = true;
        slot.resolve();
      });
      const done = here(run, work);
      await Promise.race([done, slot.promise]);
      // The slot was given back, so nothing awaits this run: log its error here. Its lease brings the task back.
      if (isFree) inBackground(done);
    },
    begun(taskId, { kind, name }) {
      if (offer.isUpstreams(kind, name)) slots.get(taskId)?.();
    },
    async open(work) {
      stopTaking = await share.onPost("run", (text) => {
        if (beside.size >= 2 * settings.callsMax) return;
        inBackground(here(JSON.parse(text) as GatewayRun, work));
      });
    },
    async close(drainMs) {
      isClosing = true;
      const listersClosed = listers.close();
      const untilMs = Date.now() + drainMs;
      while (Date.now() < untilMs && (calls.taskIds().length > 0 || beside.size > 0)) {
        await clock.sleep(DRAIN_LOOK_MS);
      }
      const left = new Set(calls.taskIds());
      clearInterval(beats);
      stopTaking?.();
      stopReads();
      stopTaskless();
      offer.close();
      const own = await share.leave().catch(() => undefined);
      await Promise.all([...left].map((taskId) => tasks.drop(taskId, "lost")));
      if (own) inBackground(followUp(own));
      quiet.close();
      await Promise.all([...beside, listersClosed, prepared.close()]);
      await closeFetch();
      return left.size === 0;
    },
  };
}
