import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  Container,
  ContainerEventResponse,
  ContainerStatusResponse,
  ExecSyncResponse,
} from './generated/runtime/v1/cri.js';
import { InterningReader } from './interning-reader.js';
import { MAX_CACHED_BYTES, StringCache } from './string-cache.js';

const text = fc.oneof(
  fc.string({ unit: 'binary-ascii' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(
    '',
    'io.kubernetes.pod.uid',
    '\uFEFFbom',
    'é',
    'ÿ',
    '\u0080',
    '\uFFFD',
    '💥',
    'x'.repeat(MAX_CACHED_BYTES + 1),
  ),
);
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
// A __proto__ key would set the object's prototype with either reader.
const map = fc.dictionary(
  text.filter((key) => key !== '__proto__'),
  text,
  { maxKeys: 8 },
);
const metadata = fc.record({ name: text, attempt: fc.nat() });
const container = fc.record({
  id: text,
  podSandboxId: text,
  metadata: fc.option(metadata, { nil: undefined }),
  image: fc.option(fc.record({ image: text, annotations: map }), { nil: undefined }),
  state: fc.constantFrom(0, 1, 2, 3),
  createdAt: int64,
  labels: map,
  annotations: map,
});
const status = fc.record({
  id: text,
  metadata,
  createdAt: int64,
  exitCode: fc.integer(),
  reason: text,
  labels: map,
  mounts: fc.array(fc.record({ containerPath: text, readonly: fc.boolean() }), { maxLength: 3 }),
});

describe('the interning reader', () => {
  // One cache for all runs, so that a message meets what earlier ones left in it.
  const strings = new StringCache();
  const read = (bytes: Uint8Array, counters = { unknownFields: 0 }): InterningReader =>
    new InterningReader(bytes, strings, counters);

  it('decodes every field as the plain reader does', () => {
    fc.assert(
      fc.property(container, status, (c, s) => {
        const one = Container.encode(Container.create(c)).finish();
        expect(Container.decode(read(one))).toEqual(Container.decode(new BinaryReader(one)));
        const two = ContainerStatusResponse.encode(
          ContainerStatusResponse.create({
            status: s,
            info: { [s.id === '__proto__' ? '' : s.id]: s.reason },
          }),
        ).finish();
        expect(ContainerStatusResponse.decode(read(two))).toEqual(
          ContainerStatusResponse.decode(new BinaryReader(two)),
        );
        const three = ContainerEventResponse.encode(
          ContainerEventResponse.create({ containerId: c.id, containersStatuses: [s, s] }),
        ).finish();
        expect(ContainerEventResponse.decode(read(three))).toEqual(
          ContainerEventResponse.decode(new BinaryReader(three)),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('reads any bytes as the plain reader does, broken UTF-8 too', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 120 }),
      // Short and from few values, so that the cache's slots see other bytes again.
      fc.array(
        fc.constantFrom(0x41, 0x42, 0x80, 0xbf, 0xc3, 0xa9, 0xe2, 0x82, 0xed, 0xa0, 0xef, 0xbb, 0xf0, 0xff),
        { maxLength: 4 },
      ),
    );
    fc.assert(
      fc.property(bytes, (raw) => {
        const wire = new BinaryWriter().bytes(Uint8Array.from(raw)).finish();
        expect(read(wire).string()).toBe(new BinaryReader(wire).string());
        // A second time, when it may come from the cache.
        expect(read(wire).string()).toBe(new BinaryReader(wire).string());
      }),
      { numRuns: 2_000 },
    );
  });

  it('returns the same string object for bytes that it has just read', () => {
    const cache = new StringCache();
    const bytes = Buffer.from('..io.kubernetes.pod.uid..');
    const first = cache.read(bytes, 2, bytes.length - 2);
    const other = Buffer.from('io.kubernetes.pod.uid');
    expect(cache.read(other, 0, other.length)).toBe(first);
  });

  it('counts the fields that it skips, and reads the rest', () => {
    const known = Container.encode(Container.create({ id: 'c1', labels: { a: 'b' } })).finish();
    const unknown = new BinaryWriter()
      .uint32((99 << 3) | 2)
      .string('new')
      .uint32((98 << 3) | 0)
      .uint32(7)
      .finish();
    const counters = { unknownFields: 0 };
    expect(Container.decode(read(Buffer.concat([unknown, known, unknown]), counters))).toEqual(
      Container.decode(known),
    );
    expect(counters.unknownFields).toBe(4);
  });

  it('throws at a string that reaches beyond its end', () => {
    expect(() => read(Buffer.from([5, 0x41])).string()).toThrow(RangeError);
  });

  it('returns nothing that refers to the bytes read', () => {
    const message = { stdout: Buffer.from('out put'), stderr: Buffer.from('err'), exitCode: 1 };
    const encoded = ExecSyncResponse.encode(message).finish();
    // Not from the pool that small buffers share, so that it has memory of its own.
    const bytes = Buffer.alloc(encoded.length);
    bytes.set(encoded);
    const decoded = ExecSyncResponse.decode(read(bytes));
    bytes.fill(0);
    expect(Buffer.from(decoded.stdout).toString()).toBe('out put');
    expect(decoded.stdout.buffer).not.toBe(bytes.buffer);
  });
});
