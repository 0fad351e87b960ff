/**
 * What a page shows of a recording or an incident, in plain JSON: whoever reads the files makes it, and the page draws it.
 *
 * Times that end in `Ms` are milliseconds since the epoch.
 * @module
 */
import { type PodRef } from '../pod/pod-ref.js';

/** See the comment of this module. */
export interface RecordedTimeline {
  readonly title: string;
  /** What it is of: names and values. */
  readonly facts: readonly (readonly [string, string])[];
  /** What is missing, as sentences. */
  readonly notes: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** Where it begins to play (default: at the beginning). */
  readonly atMs?: number;
  /** As a factor of real time (default: so that the whole takes two minutes). */
  readonly speed?: number;
  /** Spans of time that are marked: an incident. */
  readonly bands: readonly { readonly label: string; readonly fromMs: number; readonly toMs: number }[];
  readonly findings: readonly RecordedFinding[];
  /** In the order of their times. */
  readonly entries: readonly RecordedEntry[];
  readonly measured?: Measurements;
}

/** A record, as the history of a node has it. */
export interface RecordedEntry {
  /** `<milliseconds>-<number>`. */
  readonly id: string;
  readonly atMs: number;
  readonly kind: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly pod?: PodRef;
  readonly container?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Something that was found wrong. */
export interface RecordedFinding {
  readonly code: string;
  readonly severity: string;
  readonly message: string;
  readonly evidence?: readonly string[];
  readonly remedy?: string;
  /** RFC 3339. */
  readonly beganAt?: string;
  readonly endedAt?: string;
  readonly ending?: string;
  readonly follows?: readonly (string | { readonly code: string; readonly message: string })[];
}

/** Values at the same times. */
export interface Measurements {
  readonly timesMs: readonly number[];
  readonly charts: readonly {
    readonly title: string;
    readonly unit: 'ms' | 'percent' | 'count';
    /** null where nothing was measured. */
    readonly lines: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
  }[];
}
