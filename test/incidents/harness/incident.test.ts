import { describe, expect, it } from 'vitest';
import { type Finding } from '../../../src/node/doctor/doctor-run.js';
import { judge } from './incident.js';
import { readGuide, readResults, toCauses, toPage } from './results.js';

const aFinding = (changes: Partial<Finding> = {}): Finding => ({
  ...{ code: 'ShimStopped', severity: 'critical', message: 'the shim of pod default/web (pid 7) is stopped' },
  ...{ evidence: [], remedy: 'kill -CONT 7', ...changes },
});
const EXPECTED = { codes: ['ShimStopped'], pods: ['default/web'], pid: 7, remedy: /kill -CONT 7/ };

describe('judge', () => {
  it('is right when the cause is named, and nothing else is', () => {
    expect(judge([aFinding()], EXPECTED, 4_000)).toEqual({ verdict: 'right', why: '' });
    const ofOthers = aFinding({ code: 'CpuPressure', severity: 'warning' });
    expect(judge([ofOthers, aFinding()], EXPECTED, 4_000).verdict).toBe('right');
  });

  it('is not when it takes longer than people wait', () => {
    expect(judge([aFinding()], EXPECTED, 16_240)).toEqual({
      ...{ verdict: 'unnamed', why: 'it took 16.2 s, more than 15' },
    });
  });

  it.each<[string, Finding[], string, string]>([
    ['nothing was found', [], 'missed', 'it found nothing'],
    ['something else was found', [aFinding({ code: 'ListHangs' })], 'missed', 'it found ListHangs'],
    ['the pod lacks', [aFinding({ message: 'a shim (pid 7)' })], 'unnamed', 'it does not say default/web'],
    ['the process lacks', [aFinding({ message: 'default/web' })], 'unnamed', 'it does not say pid 7'],
    [
      'the remedy is wrong',
      [aFinding({ remedy: 'restart' })],
      'unnamed',
      'it does not say a remedy with kill -CONT 7',
    ],
    ['more is blamed', [aFinding(), aFinding({ code: 'ListHangs' })], 'unnamed', 'it also found ListHangs'],
  ])('is not when %s', (_, findings, verdict, why) => {
    expect(judge(findings, EXPECTED, 4_000)).toEqual({ verdict, why });
  });
});

describe('the page of results', () => {
  it('counts verdicts, and has a row for each incident with what was wrong and what was said', () => {
    const result = {
      ...{
        incident: 'a shim | is stopped',
        containerd: '2.1',
        why: '',
        tookS: 5.04,
        said: 'ShimStopped: the\nshim',
      },
      ...{ date: '2026-01-01', commit: 'abc' },
    };
    const page = toPage([
      { ...result, verdict: 'right' },
      { ...result, verdict: 'missed', why: 'it found nothing' },
    ]);
    expect(page).toContain('1 right, 0 late, 0 unnamed, 1 missed.');
    expect(page).toContain(
      '| a shim \\| is stopped | 2.1 | right | 5.0 s | ShimStopped: the shim | 2026-01-01, abc |',
    );
    expect(page).toContain('| missed: it found nothing |');
  });
});

describe('the table of causes', () => {
  const result = {
    ...{ incident: 'a shim is stopped', containerd: '1.7', verdict: 'right' as const, why: '', tookS: 9.2 },
    ...{ said: 'ShimStopped: the shim', date: '2026-01-01', commit: 'abc' },
    kubelet: { log: ['2× "Failed" err="a | b"', 'a `word`'], metrics: [] },
  };

  it('has a row for each incident as the newest release showed it', () => {
    const table = toCauses([result, { ...result, containerd: '2.1', tookS: 4.9 }]).split('\n');
    expect(table.slice(2)).toEqual([
      '| a shim is stopped | `2× "Failed" err="a \\| b"`<br>`` a `word` `` | nothing | ShimStopped: the shim | 5 s |',
    ]);
  });

  it('leaves out what the doctor did not name, and what no kubelet was beside', () => {
    const { kubelet: _, ...alone } = result;
    expect(toCauses([{ ...result, said: '' }, alone]).split('\n')).toHaveLength(2);
  });

  it('stands in the guide as the kept results have it', async () => {
    const { wanted, is } = await readGuide(await readResults());
    expect(is).toBe(wanted);
  });
});
