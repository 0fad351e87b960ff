/** What a record is about; `podloop events --kinds` takes these words. */
export const JOURNAL_KINDS = [
  /** A container or sandbox started, died or was removed, as the event generator saw it. */
  'lifecycle',
  /** An event of a pod in the words of Kubernetes. */
  'event',
  /** A piece of work on a pod that changed something or failed. */
  'sync',
  'restart',
  /** A probe changed its mind. */
  'probe',
  /** A call of the runtime that was slow, or hangs. */
  'call',
  'relist',
  /** To the runtime. */
  'connection',
  'health',
  /** The agent's own start and end. */
  'agent',
  /** The history itself: what could not be kept. */
  'journal',
] as const;

/** One of {@link JOURNAL_KINDS}. */
export type JournalKind = (typeof JOURNAL_KINDS)[number];

/** How bad it is, in Kubernetes' two words. */
export type JournalType = 'Normal' | 'Warning';

/** The pod that a record is about. */
export interface JournalPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A fact beside the message; 64-bit numbers become text on the disk. */
export type JournalValue = string | number | boolean | bigint | readonly string[];

/** Something that happened. */
export interface JournalRecord {
  /** Wall-clock milliseconds. */
  readonly atMs: number;
  readonly kind: JournalKind;
  readonly type: JournalType;
  /** CamelCase, from a small set. */
  readonly reason: string;
  /** For people; may hold no secret. */
  readonly message: string;
  /** Absent when it is about the node. */
  readonly pod?: JournalPod;
  /** The name of the node, when it is about that. */
  readonly node?: string;
  /** The name of the container. */
  readonly container?: string;
  /** Where in the spec of its pod the container stands, when that is not among the regular ones: `spec.initContainers{setup}`. */
  readonly fieldPath?: string;
  /** How often it happened since {@link firstAtMs} (default: once). */
  readonly count?: number;
  readonly firstAtMs?: number;
  readonly details?: Readonly<Record<string, JournalValue | undefined>>;
}

/** A record that is kept, by its place in the order of all. */
export interface JournalEntry extends JournalRecord {
  /** `<milliseconds>-<number>`: rises from record to record, also when the clock is set back. */
  readonly id: string;
}

/** Whether it is brought to the disk itself at once, so that the loss of power loses the least of it. */
export function isUrgent({ type, kind }: JournalRecord): boolean {
  return type === 'Warning' || kind === 'agent';
}
