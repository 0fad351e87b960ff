import { describe, expect, it } from 'vitest';
import { mergeEdit } from './merge-edit.js';

const a = { name: 'a', image: 'a:1' };
const b = { name: 'b', image: 'b:1' };

describe('an edit of what others changed meanwhile', () => {
  it.each<[string, unknown, unknown, unknown, unknown]>([
    ['keeps a field that was added', { x: 1 }, { x: 2 }, { x: 1, y: 1 }, { x: 2, y: 1 }],
    ['adds beside a field that was added', {}, { m: { x: 1 } }, { m: { y: 1 } }, { m: { x: 1, y: 1 } }],
    ['removes a field', { x: 1, y: 1 }, { y: 1 }, { x: 1, y: 2 }, { y: 2 }],
    ['leaves out a field that was removed', { x: 1, y: 1 }, { x: 2, y: 1 }, { x: 1 }, { x: 2 }],
    ['wins where both changed one field', { x: 1 }, { x: 2 }, { x: 3 }, { x: 2 }],
    ['wins as a whole in a list without names', { l: [1, 2] }, { l: [1] }, { l: [1, 2, 3] }, { l: [1] }],
    [
      'keeps the image of another container',
      [a, b],
      [{ ...a, image: 'a:2' }, b],
      [a, { ...b, image: 'b:2' }],
      [
        { ...a, image: 'a:2' },
        { ...b, image: 'b:2' },
      ],
    ],
    ['keeps a container that was added', [a], [{ ...a, image: 'a:2' }], [a, b], [{ ...a, image: 'a:2' }, b]],
    [
      'removes a container beside a change of another',
      [a, b],
      [b],
      [a, { ...b, image: 'b:2' }],
      [{ ...b, image: 'b:2' }],
    ],
    ['wins where names are used twice', [a, a], [b], [a], [b]],
  ])('%s', (_, before, edited, now, merged) => {
    expect(mergeEdit(before, edited, now)).toEqual(merged);
  });
});
