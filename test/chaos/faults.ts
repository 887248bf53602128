/**
 * What breaks, and when: a seeded sequence of faults, one after the other. Each fault is repaired some time later.
 *
 * The seed determines which faults occur in which order, how long they last and how far apart they are. They affect real processes, so two
 * runs of one seed do not fail at the same instruction.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { TcpProxy } from "../contract/proxy.ts";
import type { Member } from "./member.ts";
import { type Meddler, openMeddler } from "./meddle.ts";
import type { Random } from "./random.ts";
import type { System } from "./system.ts";

export const FAULTS = {
  "kill front end": 5,
  "kill worker": 6,
  "stop front end": 2,
  "stop worker": 4,
  "kill all workers": 1,
  "redis outage": 2,
  "cut connections": 3,
  "slow connections": 2,
  "frozen connections": 2,
  "clock jump": 3,
  "repeated jobs": 3,
  "lost jobs": 3,
  "rotate content keys": 3,
  "rotate signing keys": 3,
  "provider outage": 2,
} as const satisfies Record<string, number>;

export type Fault = keyof typeof FAULTS;
export type FaultWeights = Readonly<Partial<Record<Fault, number>>>;

export interface InjectFaults {
  readonly random: Random;
  readonly weights: FaultWeights;
  /** Of tasks that were handed out so far. */
  readonly taskIds: readonly string[];
  readonly tell: (line: string) => void;
  /** Aborted when enough was broken. */
  readonly over: AbortSignal;
}

/** Longer than a lease, and than BullMQ's lock and its look for stalled jobs together. */
const STOP_MS = [7_500, 9_500] as const;
const MINUTE_MS = 60_000;

/** Breaks until `over`, then makes everything good. Resolves with how often each fault happened. */
export async function injectFaults(system: System, { random, weights, taskIds, over, tell }: InjectFaults): Promise<Map<Fault, number>> {
  const counts = new Map<Fault, number>();
  const recoveries = new Set<Promise<void>>();
  const meddler = await openMeddler(system);
  const possible = possibleFaults(system, weights);

  function recover(work: () => Promise<void>): void {
    const recovery = work().finally(() => recoveries.delete(recovery));
    recoveries.add(recovery);
  }
  while (!over.aborted) {
    const fault = random.weighted(possible);
    // All numbers are drawn whether they are needed or not, so that what a fault meets does not shift the sequence.
    const draw = random.fork(`${counts.size}/${[...counts.values()].reduce((sum, count) => sum + count, 0)}/${fault}`);
    tell(fault);
    const happened = await inject(fault, { system, random: draw, meddler, taskIds, recover });
    if (happened) counts.set(fault, (counts.get(fault) ?? 0) + 1);
    await sleep(random.between(300, 1_200), undefined, { signal: over }).catch(() => undefined);
  }
  await Promise.all(recoveries);
  await meddler.close();
  return counts;
}

const OF_GUARDS: readonly string[] = ["rotate content keys", "rotate signing keys", "provider outage"] satisfies Fault[];

function possibleFaults({ guard, ...system }: System, weights: FaultWeights): FaultWeights {
  const possible = possibleAnywhere(system, weights);
  return guard ? possible : Object.fromEntries(Object.entries(possible).filter(([name]) => !OF_GUARDS.includes(name)));
}

function possibleAnywhere({ wires, topology }: Pick<System, "wires" | "topology">, weights: FaultWeights): FaultWeights {
  const { "cut connections": cut, "slow connections": slow, "frozen connections": freeze, ...rest } = weights;
  const ofWires: FaultWeights = wires
    ? { ...(cut && { "cut connections": cut }), ...(slow && { "slow connections": slow }), ...(freeze && { "frozen connections": freeze }) }
    : {};
  const { "redis outage": outage, ...others } = rest;
  return { ...others, ...ofWires, ...(outage && topology.harmless.length > 0 && { "redis outage": outage }) };
}

interface Injecting {
  readonly system: System;
  readonly random: Random;
  readonly meddler: Meddler;
  readonly taskIds: readonly string[];
  recover(work: () => Promise<void>): void;
}

/** False when there was nothing to break. */
async function inject(fault: Fault, { system, random, meddler, taskIds, recover }: Injecting): Promise<boolean> {
  const { frontEnds, workers, topology } = system;
  switch (fault) {
    case "kill front end":
      return killed(random.pick(frontEnds), random, recover);
    case "kill worker":
      return killed(random.pick(workers), random, recover);
    case "kill all workers":
      return (await Promise.all(workers.map((worker) => killed(worker, random, recover)))).some(Boolean);
    case "stop front end":
      return stopped(random.pick(frontEnds), random, recover);
    case "stop worker":
      return stopped(random.pick(workers), random, recover);
    case "redis outage":
      await topology.outage(random.pick(topology.harmless), random.between(0, 2_500));
      return true;
    case "cut connections":
      pickWire(system, random)?.cut();
      return true;
    case "slow connections": {
      const wire = pickWire(system, random);
      wire?.slow(random.between(5, 150));
      recover(async () => {
        await sleep(random.between(500, 3_000));
        wire?.slow(0);
      });
      return true;
    }
    case "frozen connections": {
      const wire = pickWire(system, random);
      wire?.freeze();
      recover(async () => {
        await sleep(random.between(300, 4_000));
        wire?.thaw();
        // As after a router that lost its table: what was open is of no use.
        if (random.chance(0.5)) wire?.cut();
      });
      return true;
    }
    case "clock jump": {
      const worker = random.pick(workers);
      if (worker.state() !== "up") return false;
      await worker.setClock((random.chance(0.5) ? 1 : -1) * random.between(MINUTE_MS / 2, 10 * MINUTE_MS));
      recover(async () => {
        await sleep(random.between(2_000, 8_000));
        await worker.setClock(0);
      });
      return true;
    }
    case "repeated jobs":
      return await meddler.repeatJobs(
        Array.from({ length: 10 }, () => taskIds[taskIds.length - random.between(1, 200)] ?? taskIds[0]),
        random,
      );
    case "lost jobs":
      return await meddler.loseJobs(random.between(1, 20));
    case "rotate content keys":
      // In this turn: rotations follow one another.
      await system.guard?.rotateContentKeys({ url: topology.url, prefix: system.prefix, partitions: system.partitions });
      return true;
    case "rotate signing keys":
      recover(async () => system.guard?.rotateSigningKeys());
      return true;
    case "provider outage": {
      const forMs = random.between(500, 5_000);
      recover(async () => system.guard?.providerOutage(forMs));
      return true;
    }
  }
}

async function killed(member: Member, random: Random, recover: Injecting["recover"]): Promise<boolean> {
  if (member.state() === "down") return false;
  const awayMs = random.between(100, 2_000);
  await member.kill();
  recover(async () => {
    await sleep(awayMs);
    // Redis may be away for longer than a process waits for it.
    for (;;) {
      try {
        await member.start();
        return;
      } catch {
        await sleep(500);
      }
    }
  });
  return true;
}

async function stopped(member: Member, random: Random, recover: Injecting["recover"]): Promise<boolean> {
  if (member.state() !== "up") return false;
  const forMs = random.between(...STOP_MS);
  member.stop();
  recover(async () => {
    await sleep(forMs);
    member.wake();
  });
  return true;
}

function pickWire({ wires }: System, random: Random): TcpProxy | undefined {
  return wires && random.pick([wires.frontEnds, wires.workers]);
}
