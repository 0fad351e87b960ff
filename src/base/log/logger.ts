/** What goes behind the message of a log line: key and value, in the order given. `undefined` is left out. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Structured log lines in the way of klog: a fixed message, then keys and values.
 *
 * `v` is the verbosity from which an info line is shown (0 always, 2 the usual level, 4 for debugging), as the
 * kubelet's `-v`.
 */
export interface Logger {
  info(message: string, fields?: LogFields, v?: number): void;
  warn(message: string, fields?: LogFields): void;
  /** `error` is printed as the key `err`. */
  error(message: string, error?: unknown, fields?: LogFields): void;
  /** Whether info lines of that verbosity are shown: ask before computing costly fields. */
  enabled(v: number): boolean;
}

/** Says nothing. What libraries use until they are given a logger. */
export const SILENT_LOGGER: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  enabled: () => false,
};
