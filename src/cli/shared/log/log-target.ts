/** Where the lines of a log go. Nobody who writes waits. */
export interface LogTarget {
  /** What was written and has not been taken yet, in bytes. */
  readonly waitingBytes: number;
  /** Why output does not arrive at the moment; undefined while no error is known. */
  findProblem(): string | undefined;
  /** Takes a line, without its break. Never waits, never throws. */
  writeLine(line: string, signal?: AbortSignal): unknown;
  /** Resolves once everything has arrived, or will not within a second. */
  settle?(): Promise<void>;
}

/** Bytes; a reader that is only busy leaves less. */
const MUCH_WAITING = 1024 * 1024;

/** In words that so much waits; undefined while that is little. */
export function describeWaiting(bytes: number): string | undefined {
  return bytes > MUCH_WAITING ? `${bytes} bytes wait for their reader` : undefined;
}
