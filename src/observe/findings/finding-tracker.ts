import { type Finding } from '#doctor';

/** A finding from its begin to its end. */
export interface FindingSpell {
  /** The same for the same finding about the same subject. */
  readonly key: string;
  /** As of the last examination that had it. */
  readonly finding: Finding;
  /** Milliseconds since the epoch. */
  readonly beganAtMs: number;
  /** When it was first missing for good. */
  readonly endedAtMs?: number;
}

/** What one examination has changed. */
export interface FindingChanges {
  readonly began: readonly FindingSpell[];
  readonly ended: readonly FindingSpell[];
}

/** A finding that is missing in so many examinations in a row is over; one alone may have missed it. */
const ENDS_AFTER = 2;

interface Active extends FindingSpell {
  readonly missed: number;
  /** The first examination of those in a row that did not have it. */
  readonly missedSinceMs: number | undefined;
}

/**
 * What is wrong with a node over time: compares examinations, and says what began and what ended.
 *
 * What follows from another finding does not begin by itself, but goes on while it is found in any place.
 */
export class FindingTracker {
  readonly #active = new Map<string, Active>();

  /** All that have begun and not ended, in the order of their begin. */
  get active(): readonly FindingSpell[] {
    return [...this.#active.values()];
  }

  /** Whether the last examination did not have one of them, so that the next decides whether it is over. */
  get isDoubtful(): boolean {
    return [...this.#active.values()].some(({ missed }) => missed > 0);
  }

  /** Begins what was found before an examination could find it; ends nothing. */
  begin(findings: readonly Finding[], nowMs: number): FindingChanges {
    const found = findings.filter((finding) => isWorthIt(finding) && !this.#active.has(keyOf(finding)));
    return { began: found.map((finding) => this.#begin(keyOf(finding), finding, nowMs)), ended: [] };
  }

  /** @param findings all of one examination; an empty list means that nothing was found */
  update(findings: readonly Finding[], nowMs: number): FindingChanges {
    const top = new Map(findings.filter(isWorthIt).map((finding) => [keyOf(finding), finding]));
    const all = new Map([...findings.flatMap(({ follows = [] }) => follows).map(keyed), ...top]);
    const began = [...top].filter(([key]) => !this.#active.has(key));
    const ended: FindingSpell[] = [];
    for (const [key, spell] of this.#active) {
      const finding = all.get(key);
      const missed = finding === undefined ? spell.missed + 1 : 0;
      const missedSinceMs = finding === undefined ? (spell.missedSinceMs ?? nowMs) : undefined;
      if (missed < ENDS_AFTER) {
        this.#active.set(key, { ...spell, finding: finding ?? spell.finding, missed, missedSinceMs });
      } else {
        this.#active.delete(key);
        const { beganAtMs } = spell;
        ended.push({ key, finding: spell.finding, beganAtMs, endedAtMs: missedSinceMs ?? nowMs });
      }
    }
    return { began: began.map(([key, finding]) => this.#begin(key, finding, nowMs)), ended };
  }

  #begin(key: string, finding: Finding, nowMs: number): FindingSpell {
    const spell = { key, finding, beganAtMs: nowMs, missed: 0, missedSinceMs: undefined };
    this.#active.set(key, spell);
    return spell;
  }
}

/** What makes a finding the same one: its code and what it is about, but no numbers, and no process, which may be another each time. */
export function keyOf({ code, pod, container, call, operation }: Finding): string {
  const about = [pod?.uid ?? '', container ?? '', call ?? '', operation ?? ''];
  return [code, ...about].join(' ').trimEnd();
}

function keyed(finding: Finding): readonly [string, Finding] {
  return [keyOf(finding), finding];
}

/** What merely explains is no trouble. */
function isWorthIt({ severity }: Finding): boolean {
  return severity !== 'info';
}
