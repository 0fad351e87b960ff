import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeStateless } from './encode-stateless.js';
import { HpackDecoder } from './hpack-decoder.js';
import { HpackError } from './hpack-error.js';
import { decodeHuffman } from './huffman.js';

/** The examples of RFC 7541, appendix C.4 and C.6: blocks of one connection each, with Huffman code. */
const REQUESTS = [
  ['828684418cf1e3c2e5f23a6ba0ab90f4ff', ':method GET|:scheme http|:path /|:authority www.example.com'],
  [
    '828684be5886a8eb10649cbf',
    ':method GET|:scheme http|:path /|:authority www.example.com|cache-control no-cache',
  ],
  [
    '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
    ':method GET|:scheme https|:path /index.html|:authority www.example.com|custom-key custom-value',
  ],
] as const;
const RESPONSES = [
  [
    '488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
    ':status 302|cache-control private|date Mon, 21 Oct 2013 20:13:21 GMT|location https://www.example.com',
  ],
  [
    '4883640effc1c0bf',
    ':status 307|cache-control private|date Mon, 21 Oct 2013 20:13:21 GMT|location https://www.example.com',
  ],
] as const;

function read(decoder: HpackDecoder, hex: string): string {
  const { fields } = decoder.decode(Buffer.from(hex, 'hex'));
  return fields.map(({ name, value }) => `${name} ${value}`).join('|');
}

const texts = fc
  .string({ unit: 'binary', maxLength: 40 })
  .map((text) => Buffer.from(text).toString('latin1'));

describe('the reader of header blocks', () => {
  it('reads the examples of the standard, each block with the table that those before it made', () => {
    const requests = new HpackDecoder();
    for (const [hex, text] of REQUESTS) expect(read(requests, hex)).toBe(text);
    const responses = new HpackDecoder();
    // The examples have a table of 256 bytes, so that entries are evicted on the way.
    responses.decode(Buffer.from('3fe101', 'hex'));
    for (const [hex, text] of RESPONSES) expect(read(responses, hex)).toBe(text);
  });

  it('reads what is written without a table, and is left as it was by that', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: texts, value: texts, neverIndexed: fc.boolean() })),
        (fields) => {
          const decoded = new HpackDecoder().decode(encodeStateless(fields));
          expect(decoded.fields).toEqual(fields);
          expect(decoded.leavesTableAlone).toBe(true);
        },
      ),
    );
  });

  it('passes on limits of the table that a block begins with', () => {
    const { tableSizes, leavesTableAlone } = new HpackDecoder().decode(encodeStateless([], [0, 4096]));
    expect(tableSizes).toEqual([0, 4096]);
    expect(leavesTableAlone).toBe(false);
  });

  it('says of a block that adds a field that it changes the table', () => {
    const decoder = new HpackDecoder();
    expect(decoder.decode(Buffer.from(REQUESTS[0][0], 'hex')).leavesTableAlone).toBe(false);
    expect(decoder.decode(Buffer.from('828684be', 'hex')).leavesTableAlone).toBe(true);
  });

  it('takes any bytes for a block or for an error of HPACK, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 }), (blocks) => {
        const decoder = new HpackDecoder();
        for (const block of blocks) {
          try {
            decoder.decode(Buffer.from(block));
          } catch (error) {
            expect(error).toBeInstanceOf(HpackError);
            return;
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['an index of nothing', '80'],
    ['a field that no table has', 'ff80ffffff0f'],
    ['a string that is cut off', '40056162'],
    ['a number that never ends', 'ffffffffffffffffffff'],
    ['a table of a gigabyte', '3fe1ffffff03'],
    ['a table size behind a field', '823f11'],
    ['a Huffman code of nothing', '4084ffffffff0161'],
    ['padding of a whole byte', '4081ff0161'],
  ])('refuses %s', (_what, hex) => {
    expect(() => new HpackDecoder().decode(Buffer.from(hex, 'hex'))).toThrow(HpackError);
  });
});

describe('the Huffman code', () => {
  it('ends at padding of ones, of less than a byte', () => {
    expect(decodeHuffman(Buffer.from('f1e3c2e5f23a6ba0ab90f4ff', 'hex')).toString()).toBe('www.example.com');
    expect(() => decodeHuffman(Buffer.from('f1e3c2e5f23a6ba0ab90f4ffff', 'hex'))).toThrow(HpackError);
    expect(() => decodeHuffman(Buffer.from('f1e3c2e5f23a6ba0ab90f400', 'hex'))).toThrow(HpackError);
  });
});
