import { constants, createDeflate, createInflate, type Deflate } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeaderBlock, encodeHeaderBlock } from './header-block.js';
import { HeaderDeflater } from './header-deflater.js';
import { makeHeaderDictionary } from './header-dictionary.js';
import { HeaderInflater, MOST_HEADER_BYTES } from './header-inflater.js';
import { SpdyError } from './spdy-frame.js';

const dictionary = makeHeaderDictionary();

function deflate(zlib: Deflate, block: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    zlib.write(block);
    zlib.flush(constants.Z_SYNC_FLUSH, () => resolve(zlib.read() as Buffer));
  });
}

describe('header blocks', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z-]{1,20}$/), fc.string({ unit: 'binary-ascii' })),
        (object) => {
          const headers = new Map(Object.entries(object));
          expect(decodeHeaderBlock(encodeHeaderBlock(headers))).toEqual(headers);
        },
      ),
    );
  });

  it('that are none are refused, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(4), (bytes, count) => {
        try {
          decodeHeaderBlock(Buffer.from([0, 0, 0, count, ...bytes]));
        } catch (error) {
          expect(error).toBeInstanceOf(SpdyError);
        }
      }),
    );
  });

  it('with a name twice, too many names or something behind them are refused', () => {
    const one = encodeHeaderBlock(new Map([['a', 'b']]));
    const twice = Buffer.concat([Buffer.from([0, 0, 0, 2]), one.subarray(4), one.subarray(4)]);
    expect(() => decodeHeaderBlock(twice)).toThrow(/twice/);
    expect(() => decodeHeaderBlock(Buffer.from([1, 0, 0, 0]))).toThrow(/headers/);
    expect(() => decodeHeaderBlock(Buffer.concat([one, Buffer.of(0)]))).toThrow(/follows/);
  });
});

describe('compressed headers', () => {
  it('of ours are what zlib reads, block after block', async () => {
    const deflater = new HeaderDeflater();
    const zlib = createInflate({ dictionary, flush: constants.Z_SYNC_FLUSH });
    for (const text of ['first', '', 'third'.repeat(1_000)]) {
      await new Promise((resolve) => zlib.write(deflater.deflate(Buffer.from(text)), resolve));
      expect(String((zlib.read() as Buffer | null) ?? '')).toBe(text);
    }
    zlib.destroy();
  });

  it('of zlib are read by us, block after block', async () => {
    const inflater = new HeaderInflater();
    const zlib = createDeflate({ dictionary, level: 9 });
    for (const text of ['streamtype stdin', 'streamtype stdin', 'x'.repeat(MOST_HEADER_BYTES)]) {
      expect((await inflater.inflate(await deflate(zlib, Buffer.from(text)))).toString()).toBe(text);
    }
    inflater.close();
  });

  it('that would become too much are refused, as is everything after them', async () => {
    const inflater = new HeaderInflater();
    const zlib = createDeflate({ dictionary });
    const bomb = await deflate(zlib, Buffer.alloc(10_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(inflater.inflate(bomb)).rejects.toThrow(SpdyError);
    await expect(inflater.inflate(Buffer.of(0))).rejects.toThrow(/more than/);
  });

  it('that are no zlib, or of another dictionary, or over, are refused', async () => {
    await expect(new HeaderInflater().inflate(Buffer.from('no zlib at all'))).rejects.toThrow(SpdyError);
    const other = createDeflate({ dictionary: Buffer.from('another one') });
    await expect(new HeaderInflater().inflate(await deflate(other, Buffer.from('x')))).rejects.toThrow(
      SpdyError,
    );
    const over = Buffer.concat([
      new HeaderDeflater().deflate(Buffer.from('x')),
      Buffer.of(3, 0),
      Buffer.alloc(40),
    ]);
    await expect(new HeaderInflater().inflate(over)).rejects.toThrow(SpdyError);
  });

  it('that are waited for when the connection is closed are refused', async () => {
    const inflater = new HeaderInflater();
    const block = inflater.inflate(new HeaderDeflater().deflate(Buffer.from('x')));
    inflater.close();
    await expect(block).rejects.toThrow(/closed/);
  });
});
