/**
 * This process as one of those that hold calls: it shows the others that it lives, and follows up on the calls of those that have died.
 *
 * The calls of a dead process that can be repeated are made again by the runs that their answers cause. The questions of the others are withdrawn.
 */
import type { Log } from "@parley/core";
import type { Background } from "../unawaited-work.ts";
import type { Calls } from "../call/calls.ts";
import type { HeldTasks } from "../call/held-tasks.ts";

/** packages/redis implements it. */
export interface Members {
  /** The id of this process. */
  readonly id: string;
  /** Returns whether this process was a member already. */
  beat(): Promise<boolean>;
  /** Each dead process is reported again, to any process, until its calls were followed up on. */
  takeDead(): Promise<readonly DeadProcess[]>;
  forgetDead(dead: DeadProcess): Promise<void>;
  /** Ends this process's membership. Unless it calls `forgetDead` with what this returns, it is reported as dead. */
  leave(): Promise<DeadProcess>;
}

/** A process that has stopped beating, or left, and the calls that it held. */
export interface DeadProcess {
  readonly process: string;
  /** Until when the process that took it has time to follow up. Identifies this death: it may live again, and die again. */
  readonly untilMs: number;
  readonly calls: readonly { readonly taskId: string; readonly isFinal: boolean }[];
}

export interface Membership {
  /** Ends the calls of this process. */
  leave(): Promise<void>;
}

export interface MembershipDeps {
  readonly members: Members;
  readonly calls: Pick<Calls, "taskIds">;
  readonly tasks: HeldTasks;
  readonly background: Background;
  /** The others have taken this process for dead. */
  readonly onGivenUp?: () => void;
  readonly log: Log;
}

const BEAT_EVERY_MS = 2_000;

/** Resolves when this process is a member. */
export async function becomeMember({ members, calls, tasks, background, onGivenUp, log }: MembershipDeps): Promise<Membership> {
  let isMember = false;
  let isGivenUp = false;

  async function beat(): Promise<void> {
    const wasMember = await members.beat();
    isGivenUp ||= isMember && !wasMember;
    isMember = true;
    const dead = await members.takeDead();
    if (isGivenUp || dead.some(({ process }) => process === members.id)) {
      log.warn({ calls: calls.taskIds().length }, "this worker missed its heartbeats and was given up, its calls are ended");
      onGivenUp?.();
      await drop(calls.taskIds());
      isGivenUp = false;
    }
    // Each by itself: what cannot be done for one of them now keeps neither the others waiting nor this process from becoming a member.
    for (const work of [...dead.map(followUp), tasks.look()]) background.start(work);
  }

  /** If this process dies in the meantime, another one takes the dead process over and withdraws the rest. */
  async function followUp(dead: DeadProcess): Promise<void> {
    for (const { taskId, isFinal } of dead.calls) {
      if (isFinal) await tasks.withdraw(taskId, () => true);
    }
    await members.forgetDead(dead);
  }

  async function drop(taskIds: readonly string[]): Promise<void> {
    await Promise.all(taskIds.map((taskId) => tasks.drop(taskId, "lost")));
  }

  const beats = setInterval(() => background.start(beat()), BEAT_EVERY_MS);
  beats.unref();
  await beat();

  return {
    async leave() {
      clearInterval(beats);
      const left = calls.taskIds();
      const own = await members.leave().catch(() => undefined);
      await drop(left);
      if (own) background.start(followUp(own));
    },
  };
}
