/** The port to the log. */

/** Core's log. Messages are constant, data is in fields. Arguments, answers and form content are never logged. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
