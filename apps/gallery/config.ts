import { join, resolve } from "node:path";

/** Address of the calendar that `find_evening` reads. */
export function calendarUrl(): string {
  // oxlint-disable-next-line node/no-process-env -- as below
  return process.env["CALENDAR_URL"] ?? "https://calendar.example.com/evenings";
}

/** A path in the directory where the gallery's tools store bookings, reports and the sandbox. Read at each use, so that tests can change it. */
export function galleryDir(...parts: readonly string[]): string {
  // oxlint-disable-next-line node/no-process-env -- the settings of the gallery, read nowhere else
  return join(resolve(process.env["PARLEY_GALLERY_DIR"] ?? ".parley/gallery"), ...parts);
}
