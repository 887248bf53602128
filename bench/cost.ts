/** What an operation costs, as reported by the system and by Redis: CPU time of each process, and bytes on Redis' sockets. */
import type { Redis } from "ioredis";
import type { Figures } from "./benchmark.ts";
import type { Measured } from "./processes.ts";

export interface CostOf {
  /** Absent for who does not use it: a worker that is idle still sweeps. */
  readonly redis?: Redis;
  /** Whose CPU time counts, by name; `cpuMs` is the sum of all. */
  readonly processes: Readonly<Record<string, Measured>>;
  readonly operations: number;
}

/** Per operation; `cpuMs` and the CPU time of each process as `<name>CpuMs`, in milliseconds. */
export async function cost({ redis, processes, operations }: CostOf, work: () => Promise<unknown>): Promise<Figures> {
  const look = async () => ({
    ...(redis && (await redisStatistics(redis))),
    ...Object.fromEntries(Object.entries(processes).map(([name, each]) => [`${name}CpuMs`, each.cpuMs()])),
  });
  const before: Figures = await look();
  await work();
  const after: Figures = await look();
  const each = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, (value - (before[name] ?? 0)) / operations]));
  const cpuMs = Object.keys(processes).reduce((sum, name) => sum + (each[`${name}CpuMs`] ?? 0), 0);
  return { ...each, cpuMs };
}

/** Commands count those that scripts call; a read from a socket is a round trip of somebody. */
export async function redisStatistics(redis: Redis): Promise<Record<"redisCpuMs" | "commands" | "reads" | "bytesIn" | "bytesOut", number>> {
  const info = await redis.info();
  const read = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(info)?.[1]);
  return {
    redisCpuMs: (read("used_cpu_user") + read("used_cpu_sys")) * 1_000,
    commands: read("total_commands_processed"),
    reads: read("total_reads_processed"),
    bytesIn: read("total_net_input_bytes"),
    bytesOut: read("total_net_output_bytes"),
  };
}

export async function usedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info("memory"))?.[1]);
}
