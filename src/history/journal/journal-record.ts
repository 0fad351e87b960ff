/** The kinds of records; `podloop events --kinds` accepts these words. */
export const JOURNAL_KINDS = [
  /** A container or sandbox started, died or was removed, as the event generator saw it. */
  'lifecycle',
  /** An event of a pod, in Kubernetes' words. */
  'event',
  /** A piece of work on a pod that changed something or failed. */
  'sync',
  'restart',
  /** The result of a probe changed. */
  'probe',
  /** A call of the runtime was slow, or hangs. */
  'call',
  'relist',
  /** A change of the connection to the runtime. */
  'connection',
  'health',
  /** Something that the doctor's rules found wrong with the node, at its begin and at its end. */
  'finding',
  /** The agent's own start and end. */
  'agent',
  /** The history itself: records that were lost. */
  'journal',
] as const;

/** One of {@link JOURNAL_KINDS}. */
export type JournalKind = (typeof JOURNAL_KINDS)[number];

/** The severity, in Kubernetes' two words. */
export type JournalType = 'Normal' | 'Warning';

/** The pod that a record is about. */
export interface JournalPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** An additional fact; 64-bit numbers are stored as text. */
export type JournalValue = string | number | boolean | bigint | readonly string[];

/** Something that happened. */
export interface JournalRecord {
  /** Wall-clock milliseconds. */
  readonly atMs: number;
  readonly kind: JournalKind;
  readonly type: JournalType;
  /** CamelCase, from a small set. */
  readonly reason: string;
  /** For people; must not contain a secret. */
  readonly message: string;
  /** Absent if it is about the node. */
  readonly pod?: JournalPod;
  /** The kind of {@link pod}, if it is no pod but a workload (default: a pod of v1). */
  readonly about?: { readonly kind: string; readonly apiVersion: string };
  /** The name of the node, if it is about the node. */
  readonly node?: string;
  /** The name of the container. */
  readonly container?: string;
  /**
   * The field of the container in the spec of its pod, if it is not a regular one:
   * `spec.initContainers{setup}`.
   */
  readonly fieldPath?: string;
  /** How often it happened since {@link firstAtMs} (default: once). */
  readonly count?: number;
  readonly firstAtMs?: number;
  readonly details?: Readonly<Record<string, JournalValue | undefined>>;
}

/** A stored record with its position. */
export interface JournalEntry extends JournalRecord {
  /** `<milliseconds>-<number>`: increases from record to record, even if the clock is set back. */
  readonly id: string;
}

/** Whether it is flushed to the disk at once, so that a power failure loses as little as possible. */
export function isUrgent({ type, kind }: JournalRecord): boolean {
  return type === 'Warning' || kind === 'agent';
}
