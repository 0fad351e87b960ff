import { type Clock } from '#base/time/clock.js';

/** Maximum time to wait for what still keeps the process alive, such as a reader that does not read. */
const GRACE_MS = 2_000;
/** A call to a disk that answers takes less; one that a log writes again and again is not under way all the time. */
const LOOK_MS = 20;
const LOOKS = 25;

/** The process that is to end. */
export interface EndingProcess {
  /** What keeps it alive, as `process.getActiveResourcesInfo` names it. */
  getActiveResourcesInfo(): readonly string[];
  /** Ends it with its exit code, after its threads have ended. */
  exit(): void;
  /** Ends it by a signal, whatever its threads do. */
  killItself(): void;
}

/**
 * Ends a process after a grace, unless it ends by itself before.
 *
 * At its exit Node waits for its threads: if one of them waits for a disk that hangs, nothing but a signal ends the process. A call to a
 * disk that is under way at every look hangs.
 */
export function exitAfterGrace(process: EndingProcess, clock: Clock): void {
  const look = (looks: number): void => {
    const mayHang = process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'));
    if (!mayHang) process.exit();
    else if (looks === 1) process.killItself();
    else clock.setTimer(LOOK_MS, () => look(looks - 1));
  };
  clock.setTimer(GRACE_MS, () => look(LOOKS), { unref: true });
}
