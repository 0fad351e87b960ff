import { formatGoDuration } from '#base/time/go-duration.js';
import { type Incident, type JournalRecord } from '#history';
import { type FindingChanges, type FindingSpell } from './finding-tracker.js';

/** What a record may quote of the evidence. */
const MAX_EVIDENCE = 10;

/** Records of the history for findings that began and ended. Pure. */
export function toFindingRecords({ began, ended }: FindingChanges): JournalRecord[] {
  return [
    ...began.map((spell) => ({
      ...aboutOf(spell),
      ...({ atMs: spell.beganAtMs, type: 'Warning' } as const),
      message: spell.finding.message,
      details: {
        ...{ state: 'began', severity: spell.finding.severity, remedy: spell.finding.remedy },
        evidence: spell.finding.evidence.slice(0, MAX_EVIDENCE),
      },
    })),
    ...ended.map((spell) => {
      const { finding, beganAtMs, endedAtMs = beganAtMs } = spell;
      const lasted = formatGoDuration(Math.round((endedAtMs - beganAtMs) / 1_000) * 1_000);
      return {
        ...aboutOf(spell),
        ...({ atMs: endedAtMs, type: 'Normal' } as const),
        message: `Over after ${lasted}: ${finding.message}`,
        details: { state: 'ended', severity: finding.severity, beganAtMs, lastedMs: endedAtMs - beganAtMs },
      };
    }),
  ];
}

/**
 * Records of the history for the findings of an incident whose end nobody saw, as the observer stopped: without them, the
 * last that the history says of these findings would be that they began. Pure.
 */
export function toCutOffRecords(incident: Incident, nowMs: number): JournalRecord[] {
  const { id, findings, lastSeenAt = incident.beganAt } = incident;
  return findings
    .filter(({ endedAt }) => endedAt === undefined)
    .map(({ code, pod, container, severity, message, beganAt }) => ({
      ...({ atMs: nowMs, kind: 'finding', type: 'Normal', reason: code } as const),
      ...(pod === undefined ? {} : { pod }),
      ...(container === undefined ? {} : { container }),
      message: `The observer stopped; the end was not seen, which was after ${lastSeenAt}: ${message}`,
      details: { state: 'cut off', severity, beganAtMs: Date.parse(beganAt), incident: id },
    }));
}

function aboutOf({
  finding: { code, pod, container },
}: FindingSpell): Pick<JournalRecord, 'kind' | 'reason' | 'pod' | 'container'> {
  return {
    ...{ kind: 'finding', reason: code },
    ...(pod === undefined ? {} : { pod }),
    ...(container === undefined ? {} : { container }),
  };
}
