/** A front end or a worker that can be killed, stopped, continued, and started again at the same address. */
import { writeFile } from "node:fs/promises";
import type { Launched } from "../support/processes.ts";

export type MemberKind = "front-end" | "worker";

export interface Member {
  readonly kind: MemberKind;
  readonly index: number;
  state(): "up" | "stopped" | "down";
  /** SIGKILL. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** SIGSTOP: as a virtual machine that is moved, or a process that swaps. */
  stop(): void;
  /** SIGCONT. */
  wake(): void;
  /** Sets its clock this far off. */
  setClock(offMs: number): Promise<void>;
  /** Every process that this member has been. */
  readonly lives: readonly Launched[];
  /** Whether the present process has ended although nobody killed it. */
  crashed(): boolean;
}

export async function startMember(
  { kind, index, clockFile }: { readonly kind: MemberKind; readonly index: number; readonly clockFile: string },
  launch: () => Promise<Launched>,
): Promise<Member> {
  const lives: Launched[] = [];
  let state: "up" | "stopped" | "down" = "down";
  const now = () => lives.at(-1)!;
  const signal = (name: NodeJS.Signals) => process.kill(now().pid, name);

  const member: Member = {
    kind,
    index,
    lives,
    state: () => state,
    async kill() {
      if (state === "down") return;
      state = "down";
      await now().kill();
    },
    async start() {
      // A clock that was off is set right on a machine that starts.
      await writeFile(clockFile, "0");
      lives.push(await launch());
      state = "up";
    },
    stop() {
      state = "stopped";
      signal("SIGSTOP");
    },
    wake() {
      if (state !== "stopped") return;
      state = "up";
      signal("SIGCONT");
    },
    async setClock(offMs) {
      await writeFile(clockFile, String(offMs));
      if (state !== "down") signal("SIGUSR2");
    },
    crashed: () => state !== "down" && !isAlive(now().pid),
  };
  await member.start();
  return member;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
