import {
  type Measurements,
  type RecordedEntry,
  type RecordedTimeline,
} from '#kube/node/recorded-timeline.js';
import { type Incident, type IncidentFinding } from '#observe';
import { type RecordingEvents } from '#proxy/record';

const ENDS: Readonly<Record<RecordingEvents['end'], readonly string[]>> = {
  stopped: [],
  full: ['The recording was full: what came later is not in it.'],
  rolled: ['The recording has rolled: what came later is in the next file.'],
  'cut-off': ['The recording was cut off.'],
  shortened: ['The recording has more calls than are read: what came later is left out.'],
};

/** The page of a recording; `name` is that of its file. */
export function toRecordingPage(
  name: string,
  recorded: RecordingEvents,
  { atMs, speed }: Pick<RecordedTimeline, 'atMs' | 'speed'> = {},
): RecordedTimeline {
  const { startedAt, durationMs, mode, upstream, events } = recorded;
  const fromMs = Date.parse(startedAt);
  return {
    title: name,
    facts: [
      ['Recorded', mode === 'relay' ? 'in front of the runtime' : 'by podloop itself'],
      ['Runtime', upstream],
    ],
    ...{ notes: notesOf(recorded), fromMs, toMs: fromMs + durationMs },
    ...(atMs === undefined ? {} : { atMs: fromMs + atMs }),
    ...(speed === undefined ? {} : { speed }),
    ...{ bands: [], findings: [], entries: numbered(events) },
  };
}

/** What there is of an incident beside its file. */
export interface IncidentFiles {
  /** The calls that were recorded of it. */
  readonly recorded?: RecordingEvents | undefined;
  /** Why there are none. */
  readonly gap?: string | undefined;
  readonly measured?: Measurements | undefined;
}

/** The page of an incident. */
export function toIncidentPage(
  incident: Incident,
  { recorded, gap, measured }: IncidentFiles = {},
): RecordedTimeline {
  const { id, node, state, runtime, beganAt, endedAt, lastSeenAt, recordedFrom, findings } = incident;
  const { recurrences, gaps } = incident;
  const beganAtMs = Date.parse(beganAt);
  const ends = [endedAt, lastSeenAt, ...findings.map((each) => each.endedAt)].flatMap((each) =>
    each === undefined ? [] : [Date.parse(each)],
  );
  const recordedMs = recorded === undefined ? [] : [Date.parse(recorded.startedAt)];
  const recordedUntilMs = recordedMs.map((ms) => ms + recorded!.durationMs);
  const fromMs = Math.min(beganAtMs, Date.parse(recordedFrom), ...recordedMs);
  const toMs = Math.max(beganAtMs + 1_000, ...ends, ...recordedUntilMs);
  const bandEndMs = endedAt === undefined ? toMs : Date.parse(endedAt);
  const again = recurrences.at(-1);
  return {
    title: `Incident ${id} of ${node}`,
    facts: [
      ['State', state],
      ['Runtime', `${runtime.name} ${runtime.version} at ${runtime.endpoint}`],
    ],
    notes: [
      ...gaps.map((each) => `Missing: ${each}`),
      ...(gap === undefined ? [] : [`Its calls are not shown: ${gap}`]),
      ...(recorded === undefined ? [] : notesOf(recorded)),
      ...(again === undefined ? [] : [`It came back after its end, the last time at ${again.at}.`]),
    ],
    ...{ fromMs, toMs, atMs: beganAtMs, findings },
    bands: [{ label: `Incident ${id}`, fromMs: beganAtMs, toMs: Math.max(bandEndMs, beganAtMs) }],
    entries: numbered([...findings.flatMap(toFindingEvents), ...(recorded?.events ?? [])]),
    ...(measured === undefined ? {} : { measured }),
  };
}

function notesOf({ part, end, lost, leftOut }: RecordingEvents): string[] {
  return [
    ...(part > 0 ? ['The recording had rolled: what was before is not in this file.'] : []),
    ...ENDS[end],
    ...(lost > 0 ? [`${lost} calls and messages came faster than they could be recorded.`] : []),
    ...(leftOut > 0 ? [`${leftOut} events are left out, as there are too many to show.`] : []),
  ];
}

type Unnumbered = Omit<RecordedEntry, 'id'>;

function toFindingEvents(finding: IncidentFinding): Unnumbered[] {
  const { code, severity, message, evidence, remedy, pod, container, beganAt, endedAt, since, ending } =
    finding;
  const beganAtMs = Date.parse(since ?? beganAt);
  const about = pod === undefined ? {} : { pod, ...(container === undefined ? {} : { container }) };
  const begin: Unnumbered = {
    ...{ atMs: beganAtMs, kind: 'finding', type: 'Warning', reason: code, message, ...about },
    details: { state: 'began', severity, remedy, evidence: evidence.join('\n') },
  };
  if (endedAt === undefined) return [begin];
  const end: Unnumbered = {
    ...{ atMs: Date.parse(endedAt), kind: 'finding', type: 'Normal', reason: code, ...about },
    message: `Over: ${ending ?? message}`,
    details: { state: 'ended', severity, beganAtMs },
  };
  return [begin, end];
}

function numbered(events: readonly Unnumbered[]): RecordedEntry[] {
  return [...events]
    .sort((one, other) => one.atMs - other.atMs)
    .map((event, at) => ({ id: `${Math.max(0, Math.floor(event.atMs))}-${at}`, ...event }));
}
