import { type Clock } from '#base/time/clock.js';

/** The handlers before and after a stop of the process. */
export interface SuspensionHandlers {
  /** Gives the terminal back; the process stops then. */
  readonly leave: () => void;
  /** It goes on: takes the terminal again. */
  readonly enter: () => void;
}

/** Lets the process be stopped as Ctrl-Z does it, until it is disposed of. */
export interface Suspension extends Disposable {
  /** Stops the process and whoever runs with it at this terminal. */
  suspend(): void;
}

/** The part of `process` that {@link handleSuspension} needs. */
export interface SuspensionSource {
  on(signal: 'SIGTSTP' | 'SIGCONT', listener: () => void): unknown;
  off(signal: 'SIGTSTP' | 'SIGCONT', listener: () => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

/** The signal does not stop a process without a shell that could resume it; it continues by itself. */
const NOT_STOPPED_AFTER_MS = 300;

/** Calls the handlers round each stop that SIGTSTP, or {@link Suspension.suspend}, asks for. */
export function handleSuspension(
  process: SuspensionSource,
  clock: Pick<Clock, 'setTimer'>,
  { leave, enter }: SuspensionHandlers,
): Suspension {
  let isAway = false;
  const onContinue = (): void => {
    if (!isAway) return;
    isAway = false;
    process.on('SIGTSTP', onStop);
    enter();
  };
  const onStop = (): void => {
    if (isAway) return;
    isAway = true;
    leave();
    // Without a listener the signal does what it does to every process.
    process.off('SIGTSTP', onStop);
    process.kill(0, 'SIGTSTP');
    clock.setTimer(NOT_STOPPED_AFTER_MS, onContinue, { unref: true });
  };
  process.on('SIGTSTP', onStop);
  process.on('SIGCONT', onContinue);
  return {
    suspend: onStop,
    [Symbol.dispose]: () => {
      isAway = false;
      process.off('SIGTSTP', onStop);
      process.off('SIGCONT', onContinue);
    },
  };
}
