import { describe, expect, it } from 'vitest';
import { jsonPatch } from './json-patch.js';

const OBJECT = { metadata: { labels: { 'a/b': '1' } }, spec: { replicas: 1, list: ['x', 'y'] } };

describe('a JSON patch', () => {
  it.each<[string, object[], object]>([
    ['replaces', [{ op: 'replace', path: '/spec/replicas', value: 2 }], { replicas: 2, list: ['x', 'y'] }],
    ['adds a field', [{ op: 'add', path: '/spec/paused', value: true }], { ...OBJECT.spec, paused: true }],
    [
      'adds into a list',
      [{ op: 'add', path: '/spec/list/1', value: 'n' }],
      { replicas: 1, list: ['x', 'n', 'y'] },
    ],
    [
      'adds to its end',
      [{ op: 'add', path: '/spec/list/-', value: 'n' }],
      { replicas: 1, list: ['x', 'y', 'n'] },
    ],
    ['removes an item', [{ op: 'remove', path: '/spec/list/0' }], { replicas: 1, list: ['y'] }],
    [
      'moves',
      [{ op: 'move', from: '/spec/list/0', path: '/spec/list/1' }],
      { replicas: 1, list: ['y', 'x'] },
    ],
    [
      'copies',
      [{ op: 'copy', from: '/spec/list', path: '/spec/more' }],
      { ...OBJECT.spec, more: ['x', 'y'] },
    ],
    [
      'goes on after a test that holds',
      [
        { op: 'test', path: '/spec/list', value: ['x', 'y'] },
        { op: 'remove', path: '/spec/list' },
      ],
      { replicas: 1 },
    ],
  ])('%s', (_, operations, spec) => {
    const before = structuredClone(OBJECT);
    expect(jsonPatch(OBJECT, operations)).toEqual({ ...OBJECT, spec });
    expect(OBJECT).toEqual(before);
  });

  it('finds fields with a slash or any other name', () => {
    const path = '/metadata/labels';
    expect(jsonPatch(OBJECT, [{ op: 'remove', path: `${path}/a~1b` }])['metadata']).toEqual({ labels: {} });
    const odd = jsonPatch(OBJECT, [{ op: 'add', path: `${path}/__proto__`, value: 'x' }]);
    expect(JSON.stringify(odd['metadata'])).toBe('{"labels":{"a/b":"1","__proto__":"x"}}');
    expect(() => jsonPatch(OBJECT, [{ op: 'replace', path: '/constructor', value: 1 }])).toThrow(
      'there is nothing',
    );
  });

  it('copies no more than an object may have', () => {
    const copies = Array.from({ length: 30 }, (_, index) => ({
      op: 'copy',
      from: '/spec',
      path: `/spec/x${index}`,
    }));
    expect(() => jsonPatch(OBJECT, copies)).toThrow('may copy at most');
    expect(() => jsonPatch(OBJECT, Array(10_001).fill({}))).toThrow('at most 10000 operations');
  });

  it.each<[unknown, string]>([
    [{ op: 'remove' }, 'a JSON patch is a list of operations'],
    [[{ op: 'drop', path: '/spec' }], 'op must be one of add, remove, replace, move, copy, test, not "drop"'],
    [['x'], 'not nothing'],
    [[{ op: 'remove', path: 'spec' }], 'path must be a path such as /spec/replicas, not "spec"'],
    [[{ op: 'copy', path: '/spec' }], 'from must be a path such as /spec/replicas, not nothing'],
    [[{ op: 'add', path: '/spec/x' }], 'add /spec/x: value is missing'],
    [[{ op: 'replace', path: '/spec/x', value: 1 }], '/spec/x: there is nothing'],
    [[{ op: 'add', path: '/status/x', value: 1 }], '/status: there is nothing'],
    [[{ op: 'add', path: '/spec/replicas/x', value: 1 }], '/spec/replicas/x: there is nothing'],
    [[{ op: 'remove', path: '/spec/list/2' }], '/spec/list/2: the list has 2 items, and no place 2'],
    [[{ op: 'add', path: '/spec/list/01', value: 1 }], 'no place 01'],
    [
      [{ op: 'test', path: '/spec/replicas', value: 3 }],
      'test /spec/replicas: the value there is another one',
    ],
    [[{ op: 'move', from: '/spec', path: '/spec/list' }], '/spec cannot be moved into itself'],
    [[{ op: 'remove', path: '' }], 'the patch leaves no object'],
  ])('is refused: %j', (operations, words) => {
    expect(() => jsonPatch(OBJECT, operations)).toThrow(words);
  });
});
