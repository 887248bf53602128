import { join, resolve } from "node:path";

/** Where the calendar is that `find_evening` reads. */
export function calendarUrl(): string {
  // oxlint-disable-next-line node/no-process-env -- as below
  return process.env["CALENDAR_URL"] ?? "https://calendar.example.com/evenings";
}

/** Where the gallery's tools keep what they do: bookings, reports, the sandbox. Read at each use, so that tests can move it. */
export function galleryDir(...parts: readonly string[]): string {
  // oxlint-disable-next-line node/no-process-env -- the settings of the gallery, read nowhere else
  return join(resolve(process.env["PARLEY_GALLERY_DIR"] ?? ".parley/gallery"), ...parts);
}
