/**
 * An incident: what was wrong with a node from the first finding to some minutes after the last, as it is stored.
 *
 * A reader passes over fields that it does not know, and refuses a version above its own.
 *
 * @module
 */
import { isRecord } from '#base/text/is-record.js';

/** The version of the format. It grows when an older reader would misunderstand a newer file. */
export const INCIDENT_VERSION = 1;

const STATES: readonly unknown[] = ['open', 'over', 'cut off'] satisfies readonly IncidentState[];

/** `open`: it lasts; `over`: it ended; `cut off`: the observer ended before it. */
export type IncidentState = 'open' | 'over' | 'cut off';

/** Someone who is named in an incident. */
export interface IncidentPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A finding of an incident. Times are RFC 3339. */
export interface IncidentFinding {
  /** The same for the same finding about the same subject. */
  readonly key: string;
  readonly code: string;
  readonly severity: 'critical' | 'warning' | 'info';
  readonly message: string;
  readonly evidence: readonly string[];
  readonly remedy: string;
  readonly pod?: IncidentPod;
  readonly pods?: readonly IncidentPod[];
  readonly container?: string;
  readonly call?: string;
  readonly process?: { readonly pid: number; readonly command: string };
  /** What followed from it, as sentences that begin with a code. */
  readonly follows: readonly string[];
  /** When it was found first. */
  readonly beganAt: string;
  /** When the words above were written, where that was later: ages in them count from then. */
  readonly asOf?: string;
  /** Since when it was so, where that is known: a call may have hung before it was found. */
  readonly since?: string;
  /** Of its last spell; absent while it lasts. */
  readonly endedAt?: string;
  /** How often it began within the incident. */
  readonly spells: number;
  /** What ended it, as far as that was seen. */
  readonly ending?: string;
}

/** The file `incident.json`. */
export interface Incident {
  readonly version: number;
  /** From 1 on, in the order of the begin. */
  readonly id: number;
  readonly state: IncidentState;
  readonly node: string;
  /** The version that wrote it. */
  readonly podloop: string;
  readonly runtime: { readonly endpoint: string; readonly name: string; readonly version: string };
  readonly beganAt: string;
  readonly endedAt?: string;
  /** Of one that was cut off: when its observer wrote of it last. */
  readonly lastSeenAt?: string;
  /** The oldest call in its recording. */
  readonly recordedFrom: string;
  /** In the order of their begin, worst first of those that began together. */
  readonly findings: readonly IncidentFinding[];
  /** Later times at which a finding of it came back for a while, after its end; the newest last. */
  readonly recurrences: readonly { readonly at: string; readonly code: string }[];
  /** Why something of it is missing: of its recording, or because it could not be written. */
  readonly gaps: readonly string[];
}

/** An incident whose observer has ended before it did, and with it each of its findings that had not ended. Pure. */
export function cutOff(incident: Incident, lastSeenMs: number): Incident {
  const lastSeenAt = new Date(Math.max(lastSeenMs, Date.parse(incident.beganAt))).toISOString();
  const gap = `the observer ended before the incident did, at ${lastSeenAt} or soon after`;
  const ending = `the observer stopped; the end was not seen, which was after ${lastSeenAt}`;
  const findings = incident.findings.map((each) => (each.endedAt === undefined ? { ...each, ending } : each));
  return { ...incident, state: 'cut off', lastSeenAt, findings, gaps: [...incident.gaps, gap] };
}

/** An incident from its file. Throws RangeError for what is none, or of a version above {@link INCIDENT_VERSION}. */
export function parseIncident(text: string): Incident {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch (error) {
    throw new RangeError('it is no JSON', { cause: error });
  }
  if (!isRecord(fields) || typeof fields['version'] !== 'number') throw new RangeError('it is no incident');
  if (fields['version'] > INCIDENT_VERSION)
    throw new RangeError(
      `it has version ${fields['version']} of the format, and this podloop knows ${INCIDENT_VERSION}`,
    );
  const { id, state, beganAt, endedAt, lastSeenAt, findings, recurrences = [], gaps = [] } = fields;
  const isWhole =
    typeof id === 'number' &&
    STATES.includes(state) &&
    isTime(beganAt) &&
    (endedAt === undefined || isTime(endedAt)) &&
    (lastSeenAt === undefined || isTime(lastSeenAt)) &&
    isListOf(findings, isFinding) &&
    isListOf(recurrences, (each) => isRecord(each) && isTime(each['at'])) &&
    isListOf(gaps, isText);
  if (!isWhole) throw new RangeError('it is no incident');
  const { node = '', podloop = '', recordedFrom = beganAt, runtime } = fields;
  const of = isRecord(runtime) ? runtime : {};
  const { endpoint = '', name = '', version = '' } = of;
  const words = [node, podloop, recordedFrom, endpoint, name, version];
  if (!words.every(isText)) throw new RangeError('it is no incident');
  const whole = { node, podloop, recordedFrom, runtime: { ...of, endpoint, name, version } };
  return { ...fields, ...whole, recurrences, gaps } as unknown as Incident;
}

/** Whether it has what a reader relies on. */
function isFinding(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { pod, process, beganAt, endedAt, asOf } = value;
  return (
    ['code', 'severity', 'message', 'remedy'].every((key) => isText(value[key])) &&
    [value['evidence'], value['follows']].every((lines) => isListOf(lines, isText)) &&
    isTime(beganAt) &&
    (endedAt === undefined || isTime(endedAt)) &&
    (asOf === undefined || isTime(asOf)) &&
    (pod === undefined || (isRecord(pod) && isText(pod['namespace']) && isText(pod['name']))) &&
    (process === undefined || isRecord(process))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

function isListOf(value: unknown, isOne: (each: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every((each) => isOne(each));
}
