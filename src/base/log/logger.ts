/**
 * The fields after the message of a log line: keys and values, in the given order. `undefined` is omitted.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Structured logging in klog's style: a fixed message, then keys and values.
 *
 * `v` is the verbosity from which an info line is written (0 always, 2 the usual level, 4 for debugging), as
 * with the kubelet's `-v`.
 */
export interface Logger {
  info(message: string, fields?: LogFields, v?: number): void;
  warn(message: string, fields?: LogFields): void;
  /** `error` is printed as the key `err`. */
  error(message: string, error?: unknown, fields?: LogFields): void;
  /** Whether info lines of that verbosity are written: check it before computing expensive fields. */
  enabled(v: number): boolean;
}

/** Logs nothing. The default logger of libraries. */
export const SILENT_LOGGER: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  enabled: () => false,
};
