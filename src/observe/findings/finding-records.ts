import { formatGoDuration } from '#base/time/go-duration.js';
import { type JournalRecord } from '#history';
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

function aboutOf({
  finding: { code, pod, container },
}: FindingSpell): Pick<JournalRecord, 'kind' | 'reason' | 'pod' | 'container'> {
  return {
    ...{ kind: 'finding', reason: code },
    ...(pod === undefined ? {} : { pod }),
    ...(container === undefined ? {} : { container }),
  };
}
