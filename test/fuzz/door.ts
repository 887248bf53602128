/** A way into the deployment, as the driver sees it. */
import type fc from "fast-check";
import type { System } from "./system.ts";

export interface Door<Case> {
  readonly name: string;
  /** A case that costs as much as so many others: the door gets fewer of them. */
  readonly cost?: number;
  open(system: System): Promise<OpenDoor<Case>>;
}

export interface OpenDoor<Case> {
  /** What can be sent, as data: the same seed draws the same cases. What only the run knows, such as ids, is filled in when it is sent. */
  readonly cases: fc.Arbitrary<Case>;
  /** Sends it and judges what comes back. Throws Broken. */
  send(drawn: Case): Promise<void>;
  close(): Promise<void> | void;
}
