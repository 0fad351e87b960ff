import {
  constants,
  createDeflate,
  createDeflateRaw,
  createInflate,
  type Deflate,
  type DeflateRaw,
} from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeaderBlock, encodeHeaderBlock } from './header-block.js';
import { HeaderDeflater } from './header-deflater.js';
import { makeHeaderDictionary } from './header-dictionary.js';
import { HeaderInflater, MAX_HEADER_BYTES } from './header-inflater.js';
import { SpdyError } from './spdy-frame.js';

const dictionary = makeHeaderDictionary();

function deflate(zlib: Deflate | DeflateRaw, block: Buffer): Promise<Buffer> {
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

  it('that are invalid are rejected, whatever they contain', () => {
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

  it('with a duplicate name, too many names or trailing bytes are rejected', () => {
    const one = encodeHeaderBlock(new Map([['a', 'b']]));
    const twice = Buffer.concat([Buffer.from([0, 0, 0, 2]), one.subarray(4), one.subarray(4)]);
    expect(() => decodeHeaderBlock(twice)).toThrow(/twice/);
    expect(() => decodeHeaderBlock(Buffer.from([1, 0, 0, 0]))).toThrow(/headers/);
    expect(() => decodeHeaderBlock(Buffer.concat([one, Buffer.of(0)]))).toThrow(/follows/);
  });
});

describe('compressed headers', () => {
  it('of ours are read by zlib, block after block', async () => {
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
    for (const text of ['streamtype stdin', 'streamtype stdin', 'x'.repeat(MAX_HEADER_BYTES)]) {
      expect((await inflater.inflate(await deflate(zlib, Buffer.from(text)))).toString()).toBe(text);
    }
    inflater.close();
  });

  it('of ours and of zlib are read by us in one stream, whatever they refer to', async () => {
    const text = fc.string({ unit: 'binary-ascii', maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 4 }),
        fc.array(text, { maxLength: 4 }),
        async (stored, packed) => {
          const inflater = new HeaderInflater();
          const deflater = new HeaderDeflater();
          const zlib = createDeflateRaw({
            dictionary: Buffer.concat([dictionary, Buffer.from(stored.join(''))]),
          });
          for (const each of stored) {
            expect((await inflater.inflate(deflater.deflate(Buffer.from(each)))).toString()).toBe(each);
          }
          // Each repeats earlier content, so that it refers to it.
          for (const each of stored.length === 0 ? [] : packed) {
            const words = `${each}${stored.join('')}`;
            const block = await deflate(zlib, Buffer.from(words));
            expect((await inflater.inflate(block)).toString()).toBe(words);
          }
          inflater.close();
          zlib.destroy();
        },
      ),
      { numRuns: 50 },
    );
  });

  it('of zlib are read after many of ours, and refer back as far as possible', async () => {
    const [inflater, deflater] = [new HeaderInflater(), new HeaderDeflater()];
    const contents = Array.from({ length: 60 }, (_, at) => Buffer.from(`${at} `.repeat(400 + 17 * at)));
    for (const each of contents) expect(await inflater.inflate(deflater.deflate(each))).toEqual(each);
    const reach = Buffer.concat(contents).subarray(-32_768);
    const zlib = createDeflateRaw({ dictionary: reach, level: 9 });
    // The oldest bytes of the window that zlib itself refers to.
    for (const words of [
      reach.subarray(300, 1_300),
      Buffer.concat([reach.subarray(-9_000), Buffer.from('end')]),
    ]) {
      const block = await deflate(zlib, words);
      expect(block.length).toBeLessThan(words.length / 4);
      expect(await inflater.inflate(block)).toEqual(words);
    }
    inflater.close();
    zlib.destroy();
  });

  it('of ours are read at once, however many came before', async () => {
    const [inflater, deflater] = [new HeaderInflater(), new HeaderDeflater()];
    for (let left = 5_000; left > 0; left--)
      await inflater.inflate(deflater.deflate(Buffer.from('streamtype data')));
    let isRead = false;
    void inflater.inflate(deflater.deflate(Buffer.from('the last'))).then(() => (isRead = true));
    // No thread can have answered by then.
    await Promise.resolve();
    expect(isRead).toBe(true);
    inflater.close();
  });

  it('of ours are read beyond the remembered window, and up to their limit', async () => {
    const [inflater, deflater] = [new HeaderInflater(), new HeaderDeflater()];
    const text = 'x'.repeat(MAX_HEADER_BYTES);
    for (let round = 0; round < 8; round++) {
      expect((await inflater.inflate(deflater.deflate(Buffer.from(text)))).length).toBe(text.length);
    }
    inflater.close();
    const tooMuch = new HeaderInflater().inflate(new HeaderDeflater().deflate(Buffer.from(`${text}x`)));
    await expect(tooMuch).rejects.toThrow(/more than/);
  });

  it('that are cut or damaged are rejected, also when they are stored', async () => {
    const whole = new HeaderDeflater().deflate(Buffer.from('streamtype'));
    for (let at = 0; at < 11; at++) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 0x41;
      const outcome = await new HeaderInflater().inflate(damaged).then(String, () => 'refused');
      expect([at, outcome]).toEqual([at, 'refused']);
    }
  });

  it('that would become too large are rejected, as is everything after them', async () => {
    const inflater = new HeaderInflater();
    const zlib = createDeflate({ dictionary });
    const bomb = await deflate(zlib, Buffer.alloc(10_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(inflater.inflate(bomb)).rejects.toThrow(SpdyError);
    await expect(inflater.inflate(Buffer.of(0))).rejects.toThrow(/more than/);
  });

  it('that are not zlib, have another dictionary, or come after the end are rejected', async () => {
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

  it('that are pending when the connection is closed are rejected', async () => {
    const inflater = new HeaderInflater();
    const block = inflater.inflate(await deflate(createDeflate({ dictionary }), Buffer.from('x')));
    inflater.close();
    await expect(block).rejects.toThrow(/closed/);
  });
});
