import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PieceTree } from './piece-tree.js';

const SHORTEST = 2;

/** The result of the tree, found by checking every piece. */
function longestAt(pieces: ReadonlySet<string>, text: string, at: number): number {
  const rest = text.slice(at);
  let longest = 0;
  for (const piece of pieces) {
    let shared = 0;
    while (shared < piece.length && piece[shared] === rest[shared]) shared++;
    const counts = shared === rest.length ? shared >= SHORTEST : shared >= 32 || shared === piece.length;
    if (counts) longest = Math.max(longest, shared);
  }
  return longest;
}

it('finds the longest piece at each position, whatever was added and removed before', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: SHORTEST, maxLength: 40 });
  fc.assert(
    fc.property(
      fc.array(fc.record({ isAdded: fc.boolean(), piece: word }), { maxLength: 30 }),
      fc.array(word, { maxLength: 4 }),
      (changes, words) => {
        const tree = new PieceTree({ shortest: SHORTEST });
        const pieces = new Set<string>();
        for (const { isAdded, piece } of changes) {
          tree[isAdded ? 'add' : 'delete'](piece);
          pieces[isAdded ? 'add' : 'delete'](piece);
        }
        const text = [...words, ...pieces, 'a'].join('');
        for (let at = 0; at <= text.length; at++)
          expect(tree.lengthAt(text, at)).toBe(longestAt(pieces, text, at));
      },
    ),
  );
});
