import { type PodVerdict } from '../data/shown-pod.js';
import { type Store } from '../data/store.js';
import { type Track, type Tracks } from './tracks.js';

/** What plays a recording. */
export interface Player {
  /** Where it is, in milliseconds since the epoch. */
  readonly momentMs: number;
  readonly isPlaying: boolean;
  /** As a factor of real time. */
  readonly speed: number;
  /** Goes to a moment, or to the nearest one that was recorded. */
  goTo(ms: number): void;
  setSpeed(speed: number): void;
  /** Plays, or stands still; at the end it begins again. */
  toggle(): void;
}

/** The records of a timeline: of a node, which go on, or of a recording. */
export interface TimelineSource extends Store {
  readonly tracks: Tracks;
  readonly state: 'loading' | 'live' | 'lost';
  /** What is known begins here. */
  readonly fromMs: number;
  readonly isLoadingOlder: boolean;
  /** Why older records could not be read the last time; empty if they could. */
  readonly olderProblem: string;
  /** Whether there are more than fit. */
  readonly isFull: boolean;
  /** Of a recording. */
  readonly player?: Player;
  /** What lasts is drawn up to here. */
  endMs(): number;
  /** Reads older records, if that has not been done. */
  loadSince(ms: number): Promise<void>;
}

/** The states of pods: as they are now, or at the moment of a recording. */
export interface PodStates extends Store {
  /** Undefined for a pod that is not there. */
  judge(track: Track): PodVerdict | undefined;
}

/** A span of time that is marked over all rows. */
export interface Band {
  readonly label: string;
  readonly fromMs: number;
  /** Undefined while it lasts. */
  readonly toMs: number | undefined;
}
