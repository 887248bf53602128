import { ParleyError } from "@parley/core";

/**
 * Undefined if Redis does not answer now. For the reads of a call that is held open: its task does not depend on them, so the call stays open
 * and reads again later. An error would end the call for its client, while the task continues and asks nobody.
 */
export async function unlessAway<T extends object>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ParleyError && error.code === "UNAVAILABLE") return undefined;
    throw error;
  }
}
