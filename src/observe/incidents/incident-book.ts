/**
 * Which findings make one incident. Pure but for what it remembers of the incidents so far.
 *
 * ```
 *            a finding begins                  all are over for three minutes
 * nothing ───────────────────────► open ──────────────────────────────────────► over ──┐
 *                                   ▲ │ further findings join                          │
 *                                   └─┘              within half an hour: a recurrence ┘
 * ```
 *
 * Findings that begin while an incident is open join it, as long as its calls are recorded: what begins later begins another one, with
 * calls of its own, and the one before is over for this book although findings of it last. One that comes back within half an hour after the end of its
 * incident is noted there, and opens no other. What is wrong with workloads or will be wrong in days joins an
 * incident, opens none, and keeps none open.
 *
 * @module
 */
import { type Finding, type FindingCode } from '#doctor';
import { type Incident, INCIDENT_VERSION, type IncidentFinding } from '#history';
import { type FindingChanges, type FindingSpell } from '../findings/finding-tracker.js';

/** Who writes incidents. */
export interface IncidentAuthor {
  readonly node: string;
  readonly podloop: string;
  readonly runtime: () => Incident['runtime'];
}

/** What one examination means for the incidents. */
export interface BookInput {
  readonly changes: FindingChanges;
  readonly active: readonly FindingSpell[];
  readonly nowMs: number;
  /** Since when there are calls to record. */
  readonly recordedFromMs: number;
  /** What ended a finding, as far as that was seen. */
  readonly explainEnd: (finding: Finding) => string | undefined;
}

/** Incidents that have to be written; `opened` is also `changed`. */
export interface BookUpdate {
  readonly opened?: Incident;
  readonly closed?: Incident;
  readonly changed: readonly Incident[];
}

/** For how long the calls of an incident are recorded. */
export const RECORDED_MS = 60 * 60_000;
/** How long it goes on after the last finding is over. */
const TAIL_MS = 3 * 60_000;
const RECURS_WITHIN_MS = 30 * 60_000;
const MAX_RECURRENCES = 100;
/** A node with more than that is ill as a whole, and the first say why. */
const MAX_FINDINGS = 100;
const MORE_FINDINGS = `it has the first ${MAX_FINDINGS} findings, and the history has all`;
/** They last for days and say nothing of the node at this moment. */
const QUIET: ReadonlySet<string> = new Set<FindingCode>([
  ...(['PodsWait', 'CrashLoops', 'DeadContainers', 'DeadSandboxes', 'TooManyContainers'] as const),
  ...(['CertificateExpired', 'CertificateExpires', 'CgroupControllersMissing', 'CpuPressure'] as const),
]);

/** See the module. */
export class IncidentBook {
  readonly #author: IncidentAuthor;
  #nextId: number;
  #open: Incident | undefined;
  /** The last one that is over, for what comes back. */
  #last: Incident | undefined;

  constructor(author: IncidentAuthor, nextId: number) {
    this.#author = author;
    this.#nextId = nextId;
  }

  /** The incident that lasts. */
  get open(): Incident | undefined {
    return this.#open;
  }

  examined(input: BookInput): BookUpdate {
    const changed = new Map<number, Incident>();
    let opened: Incident | undefined;
    const left = this.#leaveIfUnrecorded(input);
    if (left !== undefined) changed.set(left.id, left);
    if (this.#open === undefined) {
      const recurring = this.#noteRecurrences(input);
      if (recurring !== undefined) changed.set(recurring.id, recurring);
      if (this.#opensWith(input)) opened = this.#begin(input);
    }
    const before = this.#open;
    if (before !== undefined) {
      const after = this.#proceed(before, input);
      this.#open = after;
      if (opened !== undefined || !isSame(before, after)) changed.set(after.id, after);
    }
    const over = this.#closeIfOver(input.nowMs);
    if (over !== undefined) changed.set(over.id, over);
    const closed = over ?? (left === undefined ? undefined : changed.get(left.id));
    return {
      ...(opened === undefined ? {} : { opened: changed.get(opened.id) ?? opened }),
      ...(closed === undefined ? {} : { closed }),
      changed: [...changed.values()],
    };
  }

  /** Notes that something of the open incident is missing; returns it. */
  noteGap(gap: string): Incident | undefined {
    if (this.#open === undefined || this.#open.gaps.includes(gap)) return undefined;
    this.#open = { ...this.#open, gaps: [...this.#open.gaps, gap] };
    return this.#open;
  }

  /** Whether anything begins of which an incident that is long open would have no calls: if so, closes that. */
  #leaveIfUnrecorded(input: BookInput): Incident | undefined {
    const { changes, nowMs } = input;
    const incident = this.#open;
    if (incident === undefined || nowMs - Date.parse(incident.beganAt) < RECORDED_MS) return undefined;
    const known = new Set(incident.findings.map(({ key }) => key));
    if (!changes.began.some(({ finding, key }) => !QUIET.has(finding.code) && !known.has(key)))
      return undefined;
    const { ended } = changes;
    const last = this.#proceed(incident, { ...input, changes: { began: [], ended } });
    this.#open = undefined;
    this.#last = { ...last, state: 'over', endedAt: toTime(nowMs) };
    return this.#last;
  }

  #opensWith({ changes, nowMs }: BookInput): boolean {
    return changes.began.some(({ finding, key }) => !QUIET.has(finding.code) && !this.#isRecent(key, nowMs));
  }

  #isRecent(key: string, nowMs: number): boolean {
    const { findings = [], endedAt = '', recurrences = [] } = this.#last ?? {};
    const lastMs = Math.max(Date.parse(endedAt), ...recurrences.map(({ at }) => Date.parse(at)));
    return findings.some((each) => each.key === key) && nowMs - lastMs <= RECURS_WITHIN_MS;
  }

  #noteRecurrences({ changes, nowMs }: BookInput): Incident | undefined {
    const back = changes.began.filter(({ key }) => this.#isRecent(key, nowMs));
    if (back.length === 0 || this.#last === undefined) return undefined;
    const news = back.map(({ finding }) => ({ at: toTime(nowMs), code: finding.code }));
    this.#last = { ...this.#last, recurrences: [...this.#last.recurrences, ...news].slice(-MAX_RECURRENCES) };
    return this.#last;
  }

  #begin({ nowMs, recordedFromMs }: BookInput): Incident {
    const { node, podloop, runtime } = this.#author;
    this.#open = {
      ...{ version: INCIDENT_VERSION, id: this.#nextId++, state: 'open', node, podloop, runtime: runtime() },
      ...{ beganAt: toTime(nowMs), recordedFrom: toTime(recordedFromMs) },
      ...{ findings: [], recurrences: [], gaps: [] },
    };
    return this.#open;
  }

  #proceed(incident: Incident, { changes, active, nowMs, explainEnd }: BookInput): Incident {
    const { began, ended } = changes;
    const findings = new Map(incident.findings.map((each) => [each.key, each]));
    for (const { key, finding } of active) {
      const known = findings.get(key);
      if (known === undefined || known.endedAt !== undefined) continue;
      const news = { ...known, ...toFacts(finding) };
      // Ages in the words count from the examination that wrote them.
      if (!isSame(known, news)) findings.set(key, { ...news, asOf: toTime(nowMs) });
    }
    const gaps = new Set(incident.gaps);
    for (const { key, finding } of began) {
      const known = findings.get(key);
      if (known === undefined && findings.size >= MAX_FINDINGS) {
        gaps.add(MORE_FINDINGS);
        continue;
      }
      const spells = (known?.spells ?? 0) + 1;
      const beganAt = known?.beganAt ?? toTime(nowMs);
      const asOf = known === undefined ? {} : { asOf: toTime(nowMs) };
      findings.set(key, { key, ...toFacts(finding), beganAt, ...asOf, spells });
    }
    for (const { key, finding, endedAtMs = nowMs } of ended) {
      const known = findings.get(key);
      const ending = explainEnd(finding);
      const endedAt = toTime(endedAtMs);
      if (known !== undefined)
        findings.set(key, { ...known, endedAt, ...(ending === undefined ? {} : { ending }) });
    }
    return { ...incident, findings: [...findings.values()], gaps: [...gaps] };
  }

  #closeIfOver(nowMs: number): Incident | undefined {
    const incident = this.#open;
    if (incident === undefined) return undefined;
    // What lasts for days would hold it open, and join it with whatever comes in these days.
    const loud = incident.findings.filter(({ code }) => !QUIET.has(code));
    const ends = loud.map(({ endedAt }) => (endedAt === undefined ? Infinity : Date.parse(endedAt)));
    const lastMs = Math.max(Date.parse(incident.beganAt), ...ends);
    if (nowMs - lastMs < TAIL_MS) return undefined;
    this.#open = undefined;
    // One that lasts for days may have ended meanwhile, after all others.
    const ended = incident.findings.flatMap(({ endedAt }) =>
      endedAt === undefined ? [] : [Date.parse(endedAt)],
    );
    this.#last = { ...incident, state: 'over', endedAt: toTime(Math.max(lastMs, ...ended)) };
    return this.#last;
  }
}

function toFacts(finding: Finding): Omit<IncidentFinding, 'key' | 'beganAt' | 'spells'> {
  const { code, severity, message, evidence, remedy, pod, pods, container, call, follows = [] } = finding;
  const { sinceMs } = finding;
  return {
    ...{ code, severity, message, evidence, remedy },
    ...(pod === undefined ? {} : { pod }),
    ...(pods === undefined ? {} : { pods }),
    ...(container === undefined ? {} : { container }),
    ...(call === undefined ? {} : { call }),
    ...(sinceMs === undefined ? {} : { since: toTime(sinceMs) }),
    ...(finding.process === undefined ? {} : { process: finding.process }),
    follows: follows.map((each) => `${each.code}: ${each.message}`),
  };
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
