import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Finding, type FindingCode } from '#doctor';
import { FindingTracker, keyOf } from './finding-tracker.js';

const aFinding = (code: FindingCode, more: Partial<Finding> = {}): Finding => ({
  ...{ code, severity: 'warning', message: code, evidence: [], remedy: '' },
  ...more,
});
const codes = (spells: readonly { readonly finding: Finding }[]): string[] =>
  spells.map(({ finding }) => finding.code);

describe('a finding', () => {
  it('begins once, and is over since the first of two examinations in a row that do not have it', () => {
    const tracker = new FindingTracker();
    const hangs = aFinding('ListHangs');
    expect(codes(tracker.update([hangs], 1_000).began)).toEqual(['ListHangs']);
    expect(tracker.update([{ ...hangs, message: 'for longer' }], 2_000)).toEqual({ began: [], ended: [] });
    expect(tracker.update([], 3_000)).toEqual({ began: [], ended: [] });
    expect(tracker.active).toHaveLength(1);
    expect(tracker.isDoubtful).toBe(true);
    const { ended } = tracker.update([], 4_000);
    expect(ended).toMatchObject([{ beganAtMs: 1_000, endedAtMs: 3_000, finding: { message: 'for longer' } }]);
    expect(tracker.active).toEqual([]);
  });

  it('that was found before an examination begins once, and goes on or ends by examinations', () => {
    const tracker = new FindingTracker();
    const stopped = aFinding('RuntimeStopped');
    expect(codes(tracker.begin([stopped], 1_000).began)).toEqual(['RuntimeStopped']);
    expect(tracker.begin([stopped], 1_500).began).toEqual([]);
    expect(tracker.update([stopped], 2_000)).toEqual({ began: [], ended: [] });
    tracker.update([], 3_000);
    expect(tracker.update([], 4_000).ended).toMatchObject([{ beganAtMs: 1_000, endedAtMs: 3_000 }]);
  });

  it('that comes and goes with each examination does not end', () => {
    const tracker = new FindingTracker();
    const changes = Array.from({ length: 100 }, (_, at) =>
      tracker.update(at % 2 === 0 ? [aFinding('RuntimeFlapping')] : [], at * 1_000),
    );
    expect(changes.flatMap(({ began }) => began)).toHaveLength(1);
    expect(changes.flatMap(({ ended }) => ended)).toEqual([]);
  });

  it('that follows from another does not begin, but goes on while it is found there', () => {
    const tracker = new FindingTracker();
    const slow = aFinding('KubeletRelistSlow');
    const stopped = aFinding('RuntimeStopped', { follows: [slow, aFinding('RuntimeHung')] });
    tracker.update([slow], 1_000);
    expect(codes(tracker.update([stopped], 2_000).began)).toEqual(['RuntimeStopped']);
    tracker.update([stopped], 3_000);
    expect(codes(tracker.active)).toEqual(['KubeletRelistSlow', 'RuntimeStopped']);
  });

  it('that only explains does not count', () => {
    expect(new FindingTracker().update([aFinding('EventsLost', { severity: 'info' })], 0).began).toEqual([]);
  });

  it('is another one about another pod, and the same one with other numbers and another process', () => {
    const pod = (uid: string): Partial<Finding> => ({ pod: { uid, namespace: 'default', name: uid } });
    expect(keyOf(aFinding('PodHung', pod('a')))).not.toBe(keyOf(aFinding('PodHung', pod('b'))));
    const one = aFinding('PodHung', { ...pod('a'), process: { pid: 1, command: 'runc' }, evidence: ['1 s'] });
    expect(keyOf(one)).toBe(keyOf(aFinding('PodHung', pod('a'))));
  });
});

it('each begin has at most one end, after it, whatever examinations find', () => {
  const code = fc.constantFrom<FindingCode>('ListHangs', 'DiskFull', 'PodHung', 'RuntimeHung');
  fc.assert(
    fc.property(fc.array(fc.uniqueArray(code), { maxLength: 50 }), (examinations) => {
      const tracker = new FindingTracker();
      const open = new Set<string>();
      for (const [at, found] of examinations.entries()) {
        const { began, ended } = tracker.update(
          found.map((each) => aFinding(each)),
          at,
        );
        for (const { key, beganAtMs, endedAtMs } of ended) {
          expect(open.delete(key)).toBe(true);
          expect(endedAtMs).toBeGreaterThan(beganAtMs);
        }
        for (const { key } of began) {
          expect(open.has(key)).toBe(false);
          open.add(key);
        }
        expect(new Set(tracker.active.map(({ key }) => key))).toEqual(open);
        for (const each of found) expect(open.has(each)).toBe(true);
      }
    }),
  );
});
