import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellWidth } from './cell-text.js';
import { itemsOf, type ListScene, listRows } from './list-rows.js';
import { INITIAL_LIST_VIEW } from './pod-list.js';
import { layOutItems, type ScreenPod } from './pod-rows.js';
import { paintRows, plainRows } from './row.js';
import { type ScreenSize } from './screen-text.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');

function aPod(name: string, more: Partial<ScreenPod> = {}): ScreenPod {
  return {
    pod: { uid: name, namespace: 'default', name },
    ...{ status: 'Running', ready: 1, total: 1, restarts: 0 },
    ...{ lastRestartAtMs: undefined, createdAtMs: NOW - 8_000 },
    ...more,
  };
}

const WIDE = { columns: 100, rows: 30 };
const CRASH = { status: 'CrashLoopBackOff', ready: 0, restarts: 3, lastRestartAtMs: NOW - 71_000 };

/** The header and the pods, in that width. */
function table(pods: readonly ScreenPod[], columns: number): string[] {
  const items = pods.map((pod) => ({ kind: 'pod', pod, isInGroup: false }) as const);
  const { header, rows } = layOutItems(items, { columns, nowMs: NOW });
  return plainRows([header, ...rows]);
}

describe('the table of pods', () => {
  it('is as kubectl has it', () => {
    expect(table([aPod('crash', CRASH), aPod('web')], 100)).toEqual([
      'NAMESPACE   NAME    READY   STATUS             RESTARTS      AGE',
      'default     crash   0/1     CrashLoopBackOff   3 (71s ago)   8s',
      'default     web     1/1     Running            0             8s',
    ]);
  });

  it('does not make up an age', () => {
    expect(table([aPod('web', { createdAtMs: undefined })], 100)[1]).toMatch(/<unknown>$/);
  });

  it('shortens names rather than what is said of a pod', () => {
    expect(table([aPod('a-name-that-is-much-too-long')], 62)[1]).toBe(
      'default     a-name-that-is…   1/1     Running   0          8s',
    );
  });

  it.each([
    [64, 'default  a-name-that-is…  0/1    CrashLoopBackOff  3         8s'],
    [60, 'a-name-that-is-much…  0/1    CrashLoopBackOff  3         8s'],
    [52, 'a-name-that-is-m…  0/1    CrashLoopBackOff  3'],
    [40, 'a-name-that-is…  0/1    CrashLoopBackOff'],
  ])('leaves out in %i columns what matters least', (columns, row) => {
    const [header, shown] = table([aPod('a-name-that-is-much-too-long', CRASH)], columns);
    expect(shown).toBe(row);
    expect(cellWidth(header!)).toBeLessThanOrEqual(columns);
  });

  it('says what pods are for where there is room', () => {
    const pods = [aPod('web', { about: 'an HTTP server' }), aPod('db')];
    expect(table(pods, 100)).toEqual([
      'NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE   WHAT IT IS FOR',
      'default     web    1/1     Running   0          8s    an HTTP server',
      'default     db     1/1     Running   0          8s',
    ]);
    expect(table(pods, 70)[0]).not.toContain('WHAT');
  });

  it('keeps columns straight under wide characters', () => {
    const wide = aPod('x', { pod: { uid: 'x', namespace: 'default', name: '日本語' } });
    const [header = '', row = '', other = ''] = table([wide, aPod('web-1')], 100);
    const at = header.indexOf('READY');
    expect(cellWidth(row.slice(0, row.indexOf('1/1')))).toBe(at);
    expect(other.indexOf('1/1')).toBe(at);
  });
});

function screen(scene: Partial<ListScene>, size: ScreenSize): string[] {
  const all: ListScene = { title: 'title', pods: [], news: [], nowMs: NOW, ...scene };
  return plainRows(listRows(all, size));
}

const manyPods = (count: number, more: (at: number) => Partial<ScreenPod> = () => ({})): ScreenPod[] =>
  Array.from({ length: count }, (_, at) => aPod(`pod-${at}`, more(at)));

describe('the screen of pods', () => {
  const news = Array.from({ length: 50 }, (_, index) => ({ atMs: NOW, text: `news ${index}` }));

  it('has the newest at its end', () => {
    const lines = screen({ pods: [aPod('web')], news }, { columns: 80, rows: 12 });
    expect(lines).toHaveLength(12);
    expect(lines[0]).toBe('title');
    expect(lines.at(-1)).toMatch(/^\d\d:04:05 {2}news 49$/);
  });

  it('goes on in further rows with what happened where the screen is narrow, three at most, and whole lines', () => {
    const text = 'Failed to pull image "registry.example/shop:1": not found';
    const long = [...news, { atMs: NOW, pod: 'shop', text }, { atMs: NOW, text: 'word '.repeat(60) }];
    const lines = screen({ pods: [aPod('web')], news: long }, { columns: 40, rows: 12 });
    expect(lines).toHaveLength(12);
    expect(lines.slice(-7).map((line) => line.replace(/^\d\d:/, 'hh:'))).toEqual([
      'hh:04:05  news 49',
      'hh:04:05  shop  Failed to pull image',
      '          "registry.example/shop:1": not',
      '          found',
      'hh:04:05  word word word word word word',
      '          word word word word word word',
      `          ${'word '.repeat(48).trim()}`,
    ]);
    const wide = screen({ pods: [aPod('web')], news: long }, { columns: 80, rows: 12 });
    expect(wide.at(-2)).toMatch(/ {2}shop {2}Failed to pull image "registry.example\/shop:1": not found$/);
    const low = screen({ pods: [aPod('web')], news: long }, { columns: 40, rows: 6 });
    expect(low.at(-1)).toMatch(/word$/);
  });

  it('keeps a third for what happens, however many pods there are', () => {
    const lines = screen({ pods: manyPods(100), news }, { columns: 80, rows: 30 });
    expect(lines.filter((line) => line.includes('news')).length).toBeGreaterThanOrEqual(10);
    expect(lines.some((line) => / of 100 lines$/.test(line))).toBe(true);
  });

  it('shows those first that are not well when there is no room for all', () => {
    const pods = [...manyPods(20), aPod('sick', CRASH)];
    const lines = screen({ pods }, { columns: 100, rows: 12 });
    expect(lines[3]).toContain('sick');
  });

  it('puts many pods into groups, of which those are open in which one is not well', () => {
    const pods = manyPods(40, (at) => ({
      pod: { uid: `${at}`, namespace: at < 20 ? 'alpha' : 'beta', name: `pod-${at}` },
      ...(at === 30 ? CRASH : {}),
    }));
    const lines = screen({ pods, view: INITIAL_LIST_VIEW }, { columns: 80, rows: 40 });
    expect(lines[3]).toBe('► alpha  20 pods');
    expect(lines[4]).toBe('▼ beta  20 pods, 1 not well');
    expect(lines[5]).toMatch(/^ {2}beta +pod-20 /);
  });

  it('says why pods may be shown as they were, and what to type next', () => {
    const lines = screen({ banner: 'Runtime is away', hints: ['type this'] }, WIDE);
    expect(lines.slice(0, 4)).toEqual(['title', 'Runtime is away', 'type this', '']);
    const low = screen({ banner: 'Runtime is away', hints: ['type this'] }, { columns: 80, rows: 3 });
    expect(low).not.toContain('type this');
  });

  it('marks what is selected, keeps it in sight, and says what the pod is for', () => {
    const pods = manyPods(100, (at) => ({ about: `the purpose of ${at}` }));
    const view = { ...INITIAL_LIST_VIEW, selected: 'pod pod-77' };
    const scene: ListScene = { title: '', pods, news, nowMs: NOW, view };
    const rows = listRows(scene, { columns: 60, rows: 24 });
    expect(rows.find(({ style }) => style === 'selected')?.text).toContain('pod-77');
    expect(rows.some(({ text }) => text === 'pod-77: the purpose of 77')).toBe(true);
    expect(rows).toHaveLength(24);
    expect(rows.at(-1)?.text).toMatch(/^\? help {2}q quit/);
  });

  it('lets no message of a program move the cursor', () => {
    const evil = { atMs: NOW, text: 'a\x1b[2Jb\nc\x9bd\u202ee' };
    const [, , , , line] = screen({ title: '', news: [evil] }, WIDE);
    expect(line).toMatch(/ {2}a \[2Jb c d e$/);
  });

  it('fits into every terminal', () => {
    const text = fc.string({ unit: 'grapheme' });
    const pod = fc.record({ name: text, namespace: text, status: text, restarts: fc.nat(), about: text });
    const scenes = fc.record({
      ...{ title: text, hints: fc.array(text, { maxLength: 4 }), texts: fc.array(text) },
      ...{ pods: fc.array(pod, { maxLength: 40 }), filter: text, hasKeyboard: fc.boolean() },
      banner: fc.option(text, { nil: undefined }),
      grouping: fc.constantFrom('auto' as const, 'none' as const, 'namespace' as const, 'owner' as const),
    });
    fc.assert(
      fc.property(scenes, fc.nat(120), fc.nat(40), (given, columns, rows) => {
        const { pods, texts, hasKeyboard, grouping, filter, ...rest } = given;
        const scene: ListScene = {
          ...{ ...rest, nowMs: NOW },
          pods: pods.map(({ name, namespace, ...more }, at) =>
            aPod('', { pod: { uid: `${at}`, namespace, name }, ...more }),
          ),
          news: texts.map((each) => ({ atMs: NOW, text: each })),
          view: hasKeyboard ? { ...INITIAL_LIST_VIEW, grouping, filter } : undefined,
        };
        const lines = listRows(scene, { columns, rows });
        expect(lines.length).toBeLessThanOrEqual(rows);
        for (const line of paintRows(lines, { columns, withColor: true })) {
          const bare = line.replaceAll(/\x1b\[[\d;]*m/g, '');
          expect(bare).not.toMatch(/\p{Cc}/u);
          expect(cellWidth(bare)).toBeLessThanOrEqual(columns);
        }
        expect(itemsOf(scene, { columns, rows }).length).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
