const NAME_CHARS_MAX = 200;
/** More than a name keeps, but few enough for work that takes quadratic time: normalizing marks, and trimming blanks and points at the end. */
const READ_CHARS = 1_000;
const ENDING_CHARS = 100;

/**
 * A file name that is safe to show and to save under: the last part of a path, without control characters, cut to 200 characters before its
 * extension. `file` if nothing remains.
 */
export function fileName(given: string): string {
  const whole = given.split(/[/\\]/).at(-1) ?? "";
  const last =
    whole.length <= READ_CHARS ? whole : `${whole.slice(0, READ_CHARS - ENDING_CHARS)}${whole.slice(-ENDING_CHARS)}`.toWellFormed();
  // Removes control characters, including those that change the direction of text: `gpj.exe` must not be shown as `exe.jpg`.
  const name = last
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  if (name === "") return "file";
  const points = Array.from(name);
  if (points.length <= NAME_CHARS_MAX) return name;
  const ending = /\.\w{1,16}$/.exec(name)?.[0] ?? "";
  return points.slice(0, NAME_CHARS_MAX - ending.length).join("") + ending;
}
