/**
 * The gateway in a worker: decides which process executes a run.
 *
 *   a run is due ─▶ does another living process hold the task's call, or state that the call needs? ─▶ send the run there
 *                └▶ execute it here; a run that leads a call gives its slot back and continues beside the others
 *
 * Runs that lead calls spend their time waiting for an upstream. They therefore take no slot (PARLEY_CONCURRENCY) and are bounded by the calls that
 * a worker may have open (PARLEY_UPSTREAM_CALLS_MAX). A run that was sent stays due until it is taken: the sweep adds it again, and by then its
 * holder has taken it or is known to be dead.
 *
 * When an upstream stops waiting for a question, the question is closed as withdrawn: by its holder, or by any worker once the holder is dead and
 * the call cannot be repeated. A withdrawal is an answer like any other (I2), and the run that it causes reports what became of the call.
 */
import {
  ANONYMOUS,
  type Call,
  type Catalogue,
  describeError,
  ParleyError,
  type Prompt,
  runnableOf,
  type RunReport,
  type Tool,
} from "@parley/core";
import { createBackground } from "../unawaited-work.ts";
import { type CallHolders, createCalls } from "../call/calls.ts";
import { gate, gates } from "../gate.ts";
import { createHeldTasks, type HeldTasksDeps } from "../call/held-tasks.ts";
import { createListers } from "../lists/listers.ts";
import { becomeMember, type Members } from "./membership.ts";
import type { Listings } from "../lists/listings.ts";
import { createOffer, type Offer } from "../offer/offer.ts";
import { prepareSessions } from "../connection/prepared-sessions.ts";
import { keepSessions, stateKeyOf, type StateOwners } from "../connection/kept-sessions.ts";
import type { CountedQuestion, QuestionDeps } from "../call/questions.ts";
import { createQuiet } from "../idle-work.ts";
import { type Asking, serveReads } from "../lists/reads.ts";
import { createRuns, type GatewayRun } from "./runs.ts";
import type { GatewaySettings } from "../config/settings.ts";
import { type Callers, serveTaskless } from "../call/taskless.ts";
import { createUpstreamFetch } from "../connection/upstream-fetch.ts";
import { createConnector } from "../connection/upstream-session.ts";
import type { Upstream } from "../config/upstreams.ts";

/** State that the processes of a deployment share. packages/redis implements it, and memory/shared-state.ts is the readable reference. */
export interface Share extends Members, CallHolders, Asking, Callers, StateOwners {
  holderOf(taskId: string): Promise<"here" | { readonly process: string }>;
  readLists: Listings["read"];
  writeList: Listings["write"];
  lease(upstream: string, ttlMs: number): Promise<boolean>;
  /** Counts questions to a caller. Resolves to how long to wait if they are too many, in which case none is counted, or to 0. */
  takeQuestions(who: string, count: number, perMinute: number): Promise<number>;
}

export interface GatewayDeps {
  readonly upstreams: readonly Upstream[];
  /** The deployment's own tools, prompts and resources. */
  readonly own: Catalogue;
  readonly services: HeldTasksDeps["services"];
  readonly share: Share;
  readonly settings: GatewaySettings;
  readonly version: string;
  /** Identifies this deployment among others. */
  readonly deployment: string;
  readonly observer?: GatewayObserver;
  /** See ServeTaskless. */
  readonly mustBeTask?: (called: Tool | Prompt) => boolean;
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

const DRAIN_LOOK_MS = 100;

export async function createGateway(deps: GatewayDeps): Promise<Gateway> {
  const { upstreams, own, services, share, settings, version, deployment, observer, mustBeTask } = deps;
  const { wakeUps, clock, log } = services;
  const { elicitation, callsMax } = settings;
  const { fetch, close: closeFetch } = createUpstreamFetch();
  const connector = createConnector({ fetch, version, deployment });
  const quiet = createQuiet();
  const { whenQuiet } = quiet;
  const background = createBackground(log);
  const prepared = prepareSessions(connector, { whenQuiet });
  const kept = keepSessions(prepared, { owners: share });
  const runs = createRuns({ quiet, background, after: (taskId, report) => tasks.after(taskId, report) });
  const calls = createCalls({
    call: {
      connector: kept,
      elicitation,
      settings: services.settings,
      open: gate(elicitation.openMax),
      openOf: gates(elicitation.principalMax),
      openOfSession: gates(elicitation.sessionMax),
      ...questionRate(deps),
      count: (question) => observer?.question(question),
      whenQuiet: (work) => whenQuiet(() => background.start(work())),
    },
    holders: share,
    callsMax,
    onEnded: (upstream, ms) => observer?.callEnded(upstream, ms),
    log,
    onAbandoned(taskId) {
      if (!runs.isAtWork(taskId)) background.start(tasks.settle(taskId));
    },
    onRefused: (taskId, question) => background.start(tasks.refused(taskId, question)),
  });
  const tasks = createHeldTasks({
    calls,
    services,
    isAtWork: runs.isAtWork,
    isUpstreams: ({ kind, name }) => offer.isUpstreams(kind, name),
    whenQuiet,
    inBackground: background.start,
  });
  const listings: Listings = { read: share.readLists, write: share.writeList };
  const offer = await createOffer({
    own,
    upstreams,
    deployment,
    listings,
    calls,
    elicitation,
    onAnnouncement: (listener) => wakeUps.onAnnouncement(listener),
    log,
  });
  const membership = await becomeMember({
    members: share,
    calls,
    tasks,
    background,
    log,
    onGivenUp: () => kept.endAll("its worker was taken for dead"),
  });
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
  let isClosing = false;
  const stops = [
    await serveReads({ asking: share, connector: prepared, upstreams: listers.upstreams, log }),
    await serveTaskless({
      post: share,
      calls,
      upstreams: listers.upstreams,
      now: () => clock.now(),
      isClosing: () => isClosing,
      ...(mustBeTask && {
        mustBeTask(named) {
          const called = runnableOf(offer.runnable(), named);
          // What this process does not offer (yet), it cannot judge.
          return called === undefined || mustBeTask(called);
        },
      }),
      onTried: (upstream, outcome) => observer?.taskless(upstream, outcome),
      inBackground: (work) => background.start(work.finally(quiet.enter())),
    }),
  ];

  /** Where a run belongs that begins a call which may need state of an earlier one. */
  async function placeOf({ taskId, cause, isSecondHand, calls: callee }: GatewayRun): Promise<"here" | { readonly process: string }> {
    if ((cause !== "created" && !isSecondHand) || calls.has(taskId) || !listers.upstreams().some(({ keepsState }) => keepsState))
      return "here";
    if (callee && offer.upstreamOf(callee.kind, callee.name)?.keepsState !== true) return "here";
    // The run finds out what is wrong with a task that cannot be read.
    const task = await services.store.load(taskId).catch(() => undefined);
    if (!task) return "here";
    const upstream = offer.upstreamOf(task.call.kind, task.call.name);
    return upstream?.keepsState === true ? await share.stateAt(stateKeyOf(upstream, task.call)) : "here";
  }

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
      const place = await placeOf(run);
      if (place !== "here") return void (await share.post("run", place.process, JSON.stringify(run)));
      await runs.executeInSlot(run, work);
    },
    begun(taskId, { kind, name }) {
      if (offer.isUpstreams(kind, name)) runs.giveSlotBack(taskId);
    },
    async open(work) {
      stops.push(
        await share.onPost("run", (text) => {
          if (background.size() < 2 * callsMax) background.start(runs.execute(JSON.parse(text) as GatewayRun, work));
        }),
      );
    },
    async close(drainMs) {
      isClosing = true;
      const listersClosed = listers.close();
      const untilMs = Date.now() + drainMs;
      while (Date.now() < untilMs && (calls.taskIds().length > 0 || background.size() > 0)) await clock.sleep(DRAIN_LOOK_MS);
      const left = calls.taskIds();
      for (const stop of [...stops, offer.close]) stop();
      await membership.leave();
      quiet.close();
      await Promise.all([background.settled(), listersClosed, kept.close()]);
      await closeFetch();
      return left.length === 0;
    },
  };
}

/** Without Redis, questions are not counted: an outage must not end calls, whose questions are recorded when it is over. */
function questionRate({ settings, share, services: { log } }: GatewayDeps): Pick<QuestionDeps, "rate"> {
  const { perMinute } = settings.elicitation;
  if (perMinute === 0) return {};
  return {
    async rate({ principal, session }, count) {
      // Without identity, everyone is the same principal, and one session must not use up what all others may be asked.
      const who = principal === ANONYMOUS && session !== undefined ? `session ${session}` : principal;
      try {
        return await share.takeQuestions(who, count, perMinute);
      } catch (error) {
        if (!(error instanceof ParleyError) || error.code !== "UNAVAILABLE") throw error;
        log.warn(describeError(error), "rate of questions could not be counted");
        return 0;
      }
    },
  };
}
