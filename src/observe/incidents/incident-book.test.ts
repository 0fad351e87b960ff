import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Finding, type FindingCode } from '#doctor';
import { type Incident } from '#history';
import { FindingTracker } from '../findings/finding-tracker.js';
import { IncidentBook } from './incident-book.js';

const aFinding = (code: FindingCode, more: Partial<Finding> = {}): Finding => ({
  ...{ code, severity: 'warning', message: `${code} is wrong`, evidence: ['1 s'], remedy: 'mend it' },
  ...more,
});

const MINUTE = 60_000;
const BEGIN = Date.parse('2026-01-02T03:00:00Z');

function setUp() {
  const tracker = new FindingTracker();
  const runtime = { endpoint: 'unix:///run/cri.sock', name: 'containerd', version: '2.1.9' };
  const book = new IncidentBook({ node: 'node', podloop: '0.1.0', runtime: () => runtime }, 1);
  let nowMs = BEGIN;
  const opened: number[] = [];
  /** An examination after so long that finds this. */
  const examine = (afterMs: number, ...findings: readonly Finding[]) => {
    nowMs += afterMs;
    const changes = tracker.update(findings, nowMs);
    const explainEnd = ({ code }: Finding): string => `${code} is mended`;
    const update = book.examined({
      ...{ changes, active: tracker.active, nowMs, recordedFromMs: nowMs - 10 * MINUTE, explainEnd },
    });
    if (update.opened !== undefined) opened.push(update.opened.id);
    return update;
  };
  const quiet = (minutes: number): void => {
    for (let minute = 0; minute < minutes; minute++) examine(MINUTE);
  };
  return { book, examine, quiet, opened };
}

describe('an incident', () => {
  it('begins with a finding, and is over three minutes after its last one', () => {
    const { book, examine } = setUp();
    const { opened } = examine(0, aFinding('RuntimeHung'));
    expect(opened).toMatchObject({
      ...{ version: 1, id: 1, state: 'open', node: 'node', beganAt: '2026-01-02T03:00:00.000Z' },
      ...{ recordedFrom: '2026-01-02T02:50:00.000Z' },
      findings: [{ code: 'RuntimeHung', beganAt: '2026-01-02T03:00:00.000Z', spells: 1 }],
    });
    examine(15_000);
    examine(15_000);
    expect(book.open?.findings).toMatchObject([
      { endedAt: '2026-01-02T03:00:15.000Z', ending: 'RuntimeHung is mended' },
    ]);
    expect(examine(2 * MINUTE).closed).toBeUndefined();
    const { closed } = examine(MINUTE);
    expect(closed).toMatchObject({ id: 1, state: 'over', endedAt: '2026-01-02T03:00:15.000Z' });
    expect(book.open).toBeUndefined();
  });

  it('says since when a finding was so, which may be long before it was found', () => {
    const { book, examine } = setUp();
    examine(MINUTE, aFinding('OciRuntimeHangs', { sinceMs: BEGIN }), aFinding('DiskFull'));
    const [hangs, full] = book.open!.findings;
    expect(hangs).toMatchObject({ since: '2026-01-02T03:00:00.000Z', beganAt: '2026-01-02T03:01:00.000Z' });
    expect(full).not.toHaveProperty('since');
  });

  it('is joined by findings that begin while it is open, in the order of their begin', () => {
    const { book, examine, opened } = setUp();
    examine(0, aFinding('ShimStopped'));
    examine(
      MINUTE,
      aFinding('ShimStopped'),
      aFinding('ListHangs', { follows: [aFinding('KubeletUnhealthy')] }),
    );
    expect(opened).toEqual([1]);
    expect(book.open?.findings.map(({ code, follows }) => [code, follows])).toEqual([
      ['ShimStopped', []],
      ['ListHangs', ['KubeletUnhealthy: KubeletUnhealthy is wrong']],
    ]);
  });

  it('shows the newest words of a finding', () => {
    const { book, examine } = setUp();
    examine(0, aFinding('ListHangs', { message: 'for 3 s' }));
    expect(examine(MINUTE, aFinding('ListHangs', { message: 'for 63 s' })).changed).toHaveLength(1);
    const asOf = '2026-01-02T03:01:00.000Z';
    expect(book.open?.findings).toMatchObject([{ message: 'for 63 s', asOf, spells: 1 }]);
    expect(examine(MINUTE, aFinding('ListHangs', { message: 'for 63 s' })).changed).toEqual([]);
  });

  it('notes a finding that comes back soon, and opens no other for it', () => {
    const { examine, quiet, opened } = setUp();
    for (let round = 0; round < 50; round++) {
      examine(0, aFinding('RuntimeFlapping'));
      quiet(10);
    }
    expect(opened).toEqual([1]);
    const { changed } = examine(0, aFinding('RuntimeFlapping'));
    expect(changed).toMatchObject([{ id: 1, state: 'over' }]);
    expect(changed[0]!.recurrences).toHaveLength(50);
  });

  it('is another one when the finding comes back late, or when another one begins', () => {
    const { examine, quiet, opened } = setUp();
    examine(0, aFinding('RuntimeFlapping'));
    quiet(10);
    examine(0, aFinding('DiskFull'), aFinding('RuntimeFlapping'));
    quiet(50);
    examine(0, aFinding('RuntimeFlapping'));
    expect(opened).toEqual([1, 2, 3]);
  });

  it('is not made of what lasts for days, which joins all the same', () => {
    const { book, examine, opened } = setUp();
    examine(0, aFinding('CertificateExpires'));
    examine(0, aFinding('CertificateExpires'), aFinding('CrashLoops'));
    expect(opened).toEqual([]);
    examine(MINUTE, aFinding('ListHangs'));
    examine(MINUTE, aFinding('ListHangs'), aFinding('PodsWait'));
    expect(book.open?.findings.map(({ code }) => code)).toEqual(['ListHangs', 'PodsWait']);
  });

  it('ends although something that lasts for days has joined it, and what comes later is another one', () => {
    const { examine, opened } = setUp();
    examine(0, aFinding('ListHangs'));
    examine(MINUTE, aFinding('ListHangs'), aFinding('CpuPressure'));
    let closed: Incident | undefined;
    for (let minute = 0; minute < 6; minute++)
      closed = examine(MINUTE, aFinding('CpuPressure')).closed ?? closed;
    expect(closed?.findings).toMatchObject([
      { code: 'ListHangs', endedAt: expect.any(String) as string },
      { code: 'CpuPressure' },
    ]);
    expect(closed?.findings[1]).not.toHaveProperty('endedAt');
    examine(MINUTE, aFinding('CpuPressure'), aFinding('DiskFull'));
    expect(opened).toEqual([1, 2]);
  });

  it('ends with what lasts for days where that ends last', () => {
    const { examine } = setUp();
    examine(5_000, aFinding('ListHangs'));
    examine(5_000, aFinding('CrashLoops'));
    examine(5_000);
    const { closed } = examine(3 * MINUTE);
    expect(closed!.findings.map(({ code }) => code)).toEqual(['ListHangs', 'CrashLoops']);
    expect(closed!.endedAt).toBe(closed!.findings[1]!.endedAt);
  });

  it('is left for another one by what begins when its calls are no longer recorded', () => {
    const { book, examine, opened } = setUp();
    const lasting = aFinding('MountHangs');
    for (let minute = 0; minute < 59; minute++) examine(MINUTE, lasting);
    examine(MINUTE, lasting, aFinding('DiskFull'));
    expect(opened).toEqual([1]);
    const update = examine(2 * MINUTE, lasting, aFinding('RuntimeHung'));
    expect(opened).toEqual([1, 2]);
    expect(update.closed).toMatchObject({ id: 1, state: 'over', endedAt: '2026-01-02T04:02:00.000Z' });
    expect(update.changed.map(({ id }) => id)).toEqual([1, 2]);
    expect(book.open?.findings.map(({ code }) => code)).toEqual(['RuntimeHung']);
    for (let minute = 0; minute < 10; minute++) examine(MINUTE, lasting);
    expect(book.open).toBeUndefined();
    // What lasts from before opens none, and what comes back of the last one does not either.
    examine(MINUTE, lasting, aFinding('RuntimeHung'));
    expect(opened).toEqual([1, 2]);
  });

  it('says that it has not all findings of a node on which there are very many', () => {
    const { book, examine } = setUp();
    const about = (pod: number) =>
      aFinding('PodHung', { pod: { uid: `u${pod}`, namespace: 'default', name: `p${pod}` } });
    examine(0, ...Array.from({ length: 100 }, (_, pod) => about(pod)));
    expect(book.open).toMatchObject({ gaps: [] });
    for (const count of [110, 120]) {
      examine(MINUTE, ...Array.from({ length: count }, (_, pod) => about(pod)));
      expect(book.open?.gaps).toEqual(['it has the first 100 findings, and the history has all']);
    }
    expect(book.open?.findings).toHaveLength(100);
  });

  it('names what is missing of it, once', () => {
    const { book, examine } = setUp();
    expect(book.noteGap('the disk is full')).toBeUndefined();
    examine(0, aFinding('DiskFull'));
    expect(book.noteGap('the disk is full')?.gaps).toEqual(['the disk is full']);
    expect(book.noteGap('the disk is full')).toBeUndefined();
  });
});

it('at most one incident is open, and each ends after all of its findings, whatever examinations find', () => {
  const code = fc.constantFrom<FindingCode>('ListHangs', 'DiskFull', 'PodHung', 'CrashLoops');
  const step = fc.record({
    found: fc.uniqueArray(code),
    afterMs: fc.integer({ min: 5_000, max: 20 * MINUTE }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { book, examine } = setUp();
      let openId: number | undefined;
      for (const { found, afterMs } of steps) {
        const { opened, closed } = examine(afterMs, ...found.map((each) => aFinding(each)));
        if (closed !== undefined) {
          expect(closed.id).toBe(openId);
          openId = undefined;
          expect(closed.findings.length).toBeGreaterThan(0);
          for (const { endedAt = 'never', code: of } of closed.findings)
            // One that is left for another one after an hour may have findings that last.
            if (endedAt !== 'never' || (of !== 'CrashLoops' && opened === undefined))
              expect(Date.parse(endedAt)).toBeLessThanOrEqual(Date.parse(closed.endedAt!));
        }
        if (opened !== undefined) {
          expect(openId).toBeUndefined();
          openId = opened.id;
        }
        expect(book.open?.id).toBe(openId);
      }
    }),
    { numRuns: 2_000 },
  );
});
