/** Structured log. Fields carry ids, counts, codes and durations; never an address, subject, key, token or body. */

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined | Error>>;

export type Logger = Readonly<{
  debug: (fields: LogFields, message: string) => void;
  info: (fields: LogFields, message: string) => void;
  warn: (fields: LogFields, message: string) => void;
  error: (fields: LogFields, message: string) => void;
  /** A log whose every line also carries `fields`. */
  child: (fields: LogFields) => Logger;
}>;
