import { type PlegMode } from '../../../src/watch/pleg/relist/relist-cadence.js';
import { type Look } from './looks.js';
import { type SeenEvent } from './seen-event.js';

export { type PlegMode };

/** A generator at work on a containerd, and everything it has said so far. Dispose of it to end it. */
export interface EventSource extends AsyncDisposable {
  readonly events: readonly SeenEvent[];
  /** Absent when nobody can see from outside when it looks. */
  readonly looks?: readonly Look[];
  /** What it said besides events: log lines, standard error, states; of these pods all. */
  tellMore(podUids: readonly string[]): string;
}
