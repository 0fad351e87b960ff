import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrpcMessage } from '../../relay/index.js';
import { ListScanner } from './list-scanner.js';
import { makeUnknownField } from '#base/wire/protobuf-fields.js';

/** An item of a list, with its tag and length: an id, and something behind it. */
function item(id: string, rest = 0): Buffer {
  const text = Buffer.from(id);
  const content = Buffer.concat([Buffer.from([0x0a, text.length]), text, makeUnknownField(rest)]);
  return Buffer.concat([Buffer.from([0x0a, (content.length & 0x7f) | 0x80, content.length >> 7]), content]);
}

function message(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat(GrpcMessage.of(Buffer.concat(fields)).pieces);
}

/** Feeds bytes in pieces of these sizes; gives the ids of the items that were new. */
function scan(
  bytes: Buffer,
  { sizes = [bytes.length], known = new Map<number, number>() } = {},
): readonly string[] {
  const ids: string[] = [];
  const scanner = new ListScanner({
    known,
    onNew: (found) => {
      ids.push(found[0] === 0x0a ? found.toString('utf8', 2, 2 + found[1]!) : 'another first field');
    },
  });
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    scanner.push(bytes.subarray(at, at + size));
    at += size;
  }
  return ids;
}

const pieces = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 });

describe('the items of a list', () => {
  it('are found in whatever pieces it comes, in one message or many, once each', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-f0-9]{1,120}$/), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, names, names, fc.nat(500), (sizes, first, second, rest) => {
        const fields = (ids: string[]) => ids.map((id) => item(id, rest));
        const bytes = Buffer.concat([message(...fields(first)), message(...fields(second))]);
        const known = new Map<number, number>();
        expect(scan(bytes, { sizes, known })).toEqual([...new Set([...first, ...second])]);
        expect(scan(bytes, { sizes, known })).toEqual([]);
      }),
    );
  });

  it.each([
    ['an unknown field of each kind', Buffer.from('10ac02190102030405060708250102030412026869', 'hex')],
    ['an item without anything in it', Buffer.from('0a00', 'hex')],
    ['an item whose first field is another', Buffer.from('0a021801', 'hex')],
  ])('are found behind %s', (_what, field) => {
    const ids = scan(message(item('a'), field, item('b')), { sizes: [1] });
    expect(ids.filter((id) => id !== 'another first field')).toEqual(['a', 'b']);
  });

  it.each([
    ['a compressed message', Buffer.concat([Buffer.from([1]), message(item('x')).subarray(1)])],
    ['a message that ends within a length', message(Buffer.from('0a80', 'hex'))],
    ['a message that ends within an item', message(item('x').subarray(0, 5))],
    ['a field of a kind that does not exist', message(Buffer.from('0b0c', 'hex'))],
    ['a length that no message has', message(Buffer.from('0affffffff7f', 'hex'))],
    ['a number without end', message(Buffer.from('80'.repeat(30), 'hex'))],
    ['an empty message', message()],
  ])('are found in the message after %s', (_what, first) => {
    for (const sizes of [[1], [3], [1_000]]) {
      expect(scan(Buffer.concat([first, message(item('a'))]), { sizes })).toEqual(['a']);
    }
  });

  it('are no more than there are, whatever the bytes', () => {
    fc.assert(
      fc.property(pieces, fc.uint8Array({ maxLength: 500 }), (sizes, noise) => {
        const bytes = Buffer.from(noise);
        expect(scan(bytes, { sizes })).toEqual(scan(bytes));
      }),
    );
  });
});
