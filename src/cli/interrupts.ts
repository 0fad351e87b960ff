import { type Clock } from '#base/time/clock.js';

/** The part of `process` that {@link listenForInterrupts} uses. */
export interface InterruptSource {
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown;
  /** Whether any of its standard streams is a terminal, which can hang up. */
  readonly hasTerminal: boolean;
}

/**
 * How long a second signal counts as the same key press, in milliseconds.
 *
 * The terminal sends Ctrl-C to every process, and npm sends it to its child once more.
 */
const SAME_KEY_PRESS_MS = 500;

/** The exit code of a command that Ctrl-C ended. */
export const EXIT_INTERRUPTED = 130;

/**
 * Returns a signal that aborts at the first SIGINT, SIGTERM or SIGHUP: end cleanly.
 *
 * A second signal calls `exitAtOnce` with {@link EXIT_INTERRUPTED}, as the user does not want to wait.
 *
 * A program without a terminal ignores a hangup. So `nohup podloop run` keeps running when its terminal closes,
 * although Node resets ignored signals when it starts.
 */
export function listenForInterrupts(
  source: InterruptSource,
  clock: Clock,
  exitAtOnce: (code: number) => void,
): AbortSignal {
  const controller = new AbortController();
  let firstMs: number | undefined;
  const onSignal = (): void => {
    const nowMs = clock.monotonicMs();
    if (firstMs === undefined) {
      firstMs = nowMs;
      controller.abort();
    } else if (nowMs - firstMs > SAME_KEY_PRESS_MS) {
      exitAtOnce(EXIT_INTERRUPTED);
    }
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) source.on(name, onSignal);
  source.on('SIGHUP', source.hasTerminal ? onSignal : () => undefined);
  return controller.signal;
}
