import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PodLine } from '../../../node/telemetry/reports/pod-lines.js';
import { formatSummary, formatTable, type Summary } from './summary-text.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');

function podLine(name: string, more: Partial<PodLine> = {}): PodLine {
  return {
    pod: { uid: name, namespace: 'default', name },
    ...{ status: 'Running', ready: 1, total: 1, restarts: 0 },
    ...{ lastRestartAtMs: undefined, createdAtMs: NOW - 8_000 },
    ...more,
  };
}

const WIDE = { columns: 100, rows: 30 };

describe('the table of pods', () => {
  it('is as kubectl has it', () => {
    const crash = { status: 'CrashLoopBackOff', ready: 0, restarts: 3, lastRestartAtMs: NOW - 71_000 };
    expect(formatTable([podLine('crash', crash), podLine('web')], NOW, WIDE)).toEqual([
      'NAMESPACE   NAME    READY   STATUS             RESTARTS      AGE',
      'default     crash   0/1     CrashLoopBackOff   3 (71s ago)   8s',
      'default     web     1/1     Running            0             8s',
    ]);
  });

  it('does not make up an age', () => {
    expect(formatTable([podLine('web', { createdAtMs: undefined })], NOW, WIDE)[1]).toMatch(/<unknown>$/);
  });

  it('shortens names rather than what is said of a pod', () => {
    const lines = formatTable([podLine('a-name-that-is-much-too-long')], NOW, { columns: 62, rows: 9 });
    expect(lines[1]).toBe('default     a-name-that-is…   1/1     Running   0          8s');
  });

  it('shows those first that are not well when there is no room for all', () => {
    const pods = [podLine('a'), podLine('b'), podLine('c', { status: 'Error' }), podLine('d')];
    const lines = formatTable(pods, NOW, { columns: 100, rows: 4 });
    expect(lines).toHaveLength(4);
    expect(lines[1]).toContain('Error');
    expect(lines[3]).toBe('… and 2 more');
  });
});

describe('the screen', () => {
  const news = Array.from({ length: 50 }, (_, index) => ({ atMs: NOW, text: `news ${index}` }));

  it('has the newest at its end', () => {
    const lines = formatSummary(
      { title: 'title', pods: [podLine('web')], news, nowMs: NOW },
      { columns: 80, rows: 12 },
    );
    expect(lines).toHaveLength(12);
    expect(lines[0]).toBe('title');
    expect(lines.at(-1)).toMatch(/^\d\d:04:05 {2}news 49$/);
  });

  it('keeps a third for what happens, however many pods there are', () => {
    const pods = Array.from({ length: 100 }, (_, index) => podLine(`pod-${index}`));
    const lines = formatSummary({ title: 'title', pods, news, nowMs: NOW }, { columns: 80, rows: 30 });
    expect(lines.filter((line) => line.includes('news'))).toHaveLength(11);
  });

  it('lets no message of a program move the cursor', () => {
    const evil = { atMs: NOW, text: 'a\x1b[2Jb\nc\x9bd\u202ee' };
    const [, , , , told] = formatSummary({ title: '', pods: [], news: [evil], nowMs: NOW }, WIDE);
    expect(told).toMatch(/ {2}a \[2Jb c d e$/);
  });

  it('fits into every terminal', () => {
    const pod = fc.record({ name: fc.string(), status: fc.string(), restarts: fc.nat() });
    const summaries = fc.record({
      title: fc.string(),
      names: fc.array(pod, { maxLength: 20 }),
      texts: fc.array(fc.string()),
    });
    fc.assert(
      fc.property(summaries, fc.nat(120), fc.nat(40), ({ title, names, texts }, columns, rows) => {
        const summary: Summary = {
          ...{ title, nowMs: NOW },
          pods: names.map(({ name, status, restarts }) => podLine(name, { status, restarts })),
          news: texts.map((text) => ({ atMs: NOW, text })),
        };
        const lines = formatSummary(summary, { columns, rows });
        expect(lines.length).toBeLessThanOrEqual(rows);
        for (const line of lines) expect(Array.from(line).length).toBeLessThanOrEqual(columns);
      }),
    );
  });
});
