const NAME_CHARS_MAX = 200;
/** More than a name keeps, and little enough for what takes time by the square of it: normalizing marks, and the blanks and points at the end. */
const READ_CHARS = 1_000;
const ENDING_CHARS = 100;

/** A name for showing and saving: the last part of what may be a path, without control characters, of at most 200 characters that keep its ending. */
export function fileName(given: string): string {
  const whole = given.split(/[/\\]/).at(-1) ?? "";
  const last =
    whole.length <= READ_CHARS ? whole : `${whole.slice(0, READ_CHARS - ENDING_CHARS)}${whole.slice(-ENDING_CHARS)}`.toWellFormed();
  // Control characters, and those that turn the direction of text: `gpj.exe` must not read `exe.jpg`.
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
