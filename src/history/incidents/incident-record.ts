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
  readonly beganAt: string;
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
  /** The oldest call in its recording. */
  readonly recordedFrom: string;
  /** In the order of their begin, worst first of those that began together. */
  readonly findings: readonly IncidentFinding[];
  /** Later times at which a finding of it came back for a while, after its end; the newest last. */
  readonly recurrences: readonly { readonly at: string; readonly code: string }[];
  /** Why something of it is missing: of its recording, or because it could not be written. */
  readonly gaps: readonly string[];
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
  const { id, state, beganAt, findings, recurrences = [], gaps = [] } = fields;
  const isWhole =
    typeof id === 'number' &&
    typeof state === 'string' &&
    typeof beganAt === 'string' &&
    Array.isArray(findings);
  if (!isWhole) throw new RangeError('it is no incident');
  return { ...fields, recurrences, gaps } as unknown as Incident;
}
