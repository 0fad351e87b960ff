import { describe, expect, it } from 'vitest';
import { formatKlogLine, formatKlogValue } from './klog-text.js';

const pod = { uid: 'b1c2', namespace: 'default', name: 'web' };

describe('a value in a klog line', () => {
  it.each<[string, unknown, string]>([
    ['text', 'running', '"running"'],
    ['text with quotes and backslashes', 'a "b" \\c', String.raw`"a \"b\" \\c"`],
    ['text with a line break and a tab', 'a\nb\tc', String.raw`"a\nb\tc"`],
    ['a control character', '\u0000\u001b[1m\u007f', String.raw`"\x00\x1b[1m\x7f"`],
    ['what has no width', 'a\u200bb', String.raw`"a\u200bb"`],
    ['letters of any script, and pictures', 'größe 大きさ ✓ 🚀', '"größe 大きさ ✓ 🚀"'],
    ['a number', 3, '3'],
    ['a large number', 12n, '12'],
    ['a truth value', true, 'true'],
    ['null', null, 'null'],
    ['an error', new Error('rpc error: code = NotFound'), '"rpc error: code = NotFound"'],
    ['a pod', pod, '"default/web"'],
    ['a pod without a namespace', { ...pod, namespace: '' }, '"web"'],
    ['a pod without a name', { ...pod, namespace: '', name: '' }, '"b1c2"'],
    ['a list of pods', [pod, pod], '["default/web","default/web"]'],
    ['an empty list', [], '[]'],
    ['a structure', { ID: 'b1c2', Type: 'ContainerStarted' }, '{"ID":"b1c2","Type":"ContainerStarted"}'],
    [
      'a structure with what a terminal obeys',
      { image: 'a\u009b2J\u202eb\u{e0001}' },
      String.raw`{"image":"a\u009b2J\u202eb\udb40\udc01"}`,
    ],
    ['a map and a set', { map: new Map([['a', 1n]]), set: new Set([1]) }, '{"map":{"a":"1"},"set":[1]}'],
    ['what is no data', Symbol('s'), '"Symbol(s)"'],
  ])('%s', (_title, value, printed) => {
    expect(formatKlogValue(value)).toBe(printed);
  });

  it('that refers to itself does not break the line', () => {
    const circle: Record<string, unknown> = {};
    circle['itself'] = circle;
    expect(formatKlogValue(circle)).toMatch(/^"not printable: .*"$/);
  });
});

it('a klog line pads the pid to seven characters and omits fields without a value', () => {
  const atMs = new Date(2026, 0, 2, 3, 4, 5, 6).getTime();
  const fields = { gone: undefined, exitCode: 0 };
  expect(
    formatKlogLine({ level: 'I', atMs, pid: 42, place: { file: 'a.ts', line: 1 }, message: 'm', fields }),
  ).toBe('I0102 03:04:05.006000      42 a.ts:1] "m" exitCode=0');
});
