import type { Announcement, WakeUps } from "@parley/core";

/** Passes announcements on to the streams of this front end, with one subscription per process instead of one per stream. */
export interface Announcements {
  onAnnouncement(listener: (announcement: Announcement) => void): () => void;
  stop(): void;
}

export async function announcements(wakeUps: WakeUps): Promise<Announcements> {
  const listeners = new Set<(announcement: Announcement) => void>();
  const stop = await wakeUps.onAnnouncement((announcement) => {
    for (const listener of listeners) listener(announcement);
  });
  return {
    onAnnouncement(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop,
  };
}
