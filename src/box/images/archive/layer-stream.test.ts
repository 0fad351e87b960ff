import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { packTar } from '#support/builders/pack-tar.js';
import { RpcError } from '../../rpc-error.js';
import { sha256Of } from './digest.js';
import { readLayer, type Layer, type LayerBounds } from './layer-stream.js';

const CONTENT = randomBytes(600_000);
const ARCHIVE = packTar([
  { name: 'a', content: CONTENT },
  { name: 'b', content: 'b' },
]);
const BOUNDS: LayerBounds = { mostBytes: 10_000_000, signal: new AbortController().signal };
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
interface Lie {
  readonly mediaType?: string;
  readonly diffId?: string;
  readonly digest?: string;
  readonly size?: number;
  readonly pieces?: number;
  readonly onEnd?: () => void;
  readonly onEntry?: (name: string) => void;
  readonly bounds?: LayerBounds;
}

/** The names of the entries, and the content of the first one held against what went in. */
async function read(stored: Buffer, lie: Lie = {}): Promise<string[]> {
  const {
    mediaType = LAYER,
    diffId = sha256Of(ARCHIVE),
    digest = sha256Of(stored),
    size = stored.length,
  } = lie;
  const { pieces = 10_000, onEnd, onEntry, bounds = BOUNDS } = lie;
  const descriptor = { mediaType, digest, size, annotations: {} };
  async function* chunks(): AsyncGenerator<Buffer> {
    try {
      for (let at = 0; at < stored.length; at += pieces) yield stored.subarray(at, at + pieces);
    } finally {
      onEnd?.();
    }
  }
  const names: string[] = [];
  for await (const { name, content } of readLayer({ descriptor, diffId, read: chunks }, bounds)) {
    const parts: Buffer[] = [];
    if (name === 'a') {
      for await (const { data } of content()) parts.push(Buffer.from(data));
      expect(Buffer.concat(parts).equals(CONTENT)).toBe(true);
    }
    names.push(name);
    onEntry?.(name);
  }
  return names;
}

const refusal = (code: status) => expect.objectContaining({ code }) as Error;

describe('a layer', () => {
  const half = ARCHIVE.length / 2;
  it.each<[string, Buffer]>([
    ['that is not compressed', ARCHIVE],
    ['in gzip', gzipSync(ARCHIVE)],
    [
      'in gzip of several members',
      Buffer.concat([gzipSync(ARCHIVE.subarray(0, half)), gzipSync(ARCHIVE.subarray(half))]),
    ],
  ])('%s gives its entries, whatever its media type says of compression', async (_what, stored) => {
    for (const mediaType of [LAYER, `${LAYER}+gzip`, 'application/vnd.docker.image.rootfs.diff.tar.gzip'])
      expect(await read(stored, { mediaType })).toEqual(['a', 'b']);
    expect(await read(stored, { pieces: 1_000_000 })).toEqual(['a', 'b']);
  });

  it('that is empty gives none', async () => {
    expect(await read(Buffer.alloc(0), { diffId: sha256Of('') })).toEqual([]);
  });

  it('with something behind the end of its archive is read, and that belongs to the digest', async () => {
    const longer = Buffer.concat([ARCHIVE, Buffer.alloc(10_240)]);
    expect(await read(longer, { diffId: sha256Of(longer) })).toEqual(['a', 'b']);
    await expect(read(gzipSync(longer))).rejects.toThrow(refusal(status.FAILED_PRECONDITION));
  });

  it.each<[string, Buffer, Lie]>([
    ['another digest', ARCHIVE, { digest: sha256Of('other') }],
    ['another digest when compressed', gzipSync(ARCHIVE), { digest: sha256Of('other') }],
    ['another digest inside', gzipSync(ARCHIVE), { diffId: sha256Of('other') }],
    ['another digest inside, not compressed', ARCHIVE, { diffId: sha256Of('other') }],
    ['fewer bytes than it has', ARCHIVE, { size: ARCHIVE.length - 1 }],
    ['more bytes than it has', ARCHIVE, { size: ARCHIVE.length + 1 }],
  ])('that is announced with %s is refused at its end', async (_what, stored, lie) => {
    await expect(read(stored, lie)).rejects.toThrow(refusal(status.FAILED_PRECONDITION));
  });

  it('that becomes more than it may is refused, although all files are small', async () => {
    const archive = Buffer.concat([ARCHIVE, Buffer.alloc(20_000_000)]);
    const refused = read(gzipSync(archive), { diffId: sha256Of(archive) });
    await expect(refused).rejects.toThrow(refusal(status.RESOURCE_EXHAUSTED));
  });

  it('is not read to its end for nobody, also behind its last entry', async () => {
    const archive = Buffer.concat([ARCHIVE, Buffer.alloc(5_000_000)]);
    const leaving = new AbortController();
    const bounds = { ...BOUNDS, signal: leaving.signal };
    const left = read(gzipSync(archive), {
      diffId: sha256Of(archive),
      bounds,
      onEntry: (name) => name === 'b' && leaving.abort(new Error('gone')),
    });
    await expect(left).rejects.toThrow('gone');
  });

  it.each<[string, Buffer]>([
    ['cut off', gzipSync(ARCHIVE).subarray(0, 300_000)],
    ['damaged in its middle', damage(gzipSync(ARCHIVE), 300_000)],
    ['cut off behind its first bytes', gzipSync(ARCHIVE).subarray(0, 2)],
  ])('in gzip that is %s is refused, and its source is let go', async (_what, stored) => {
    let ended = 0;
    await expect(read(stored, { onEnd: () => ended++ })).rejects.toThrow();
    expect(ended).toBe(1);
  });

  it('whose reader stops early lets its source go', async () => {
    for (const stored of [ARCHIVE, gzipSync(ARCHIVE)]) {
      let ended = 0;
      const descriptor = { mediaType: LAYER, digest: sha256Of(stored), size: stored.length, annotations: {} };
      const layer: Layer = {
        descriptor,
        diffId: sha256Of(ARCHIVE),
        read: async function* () {
          try {
            for (let at = 0; at < stored.length; at += 1_000) yield stored.subarray(at, at + 1_000);
          } finally {
            ended++;
          }
        },
      };
      const entries = readLayer(layer, BOUNDS);
      for await (const { name } of entries) {
        expect(name).toBe('a');
        break;
      }
      await expect.poll(() => ended).toBe(1);
    }
  });

  it.each([
    ['application/vnd.oci.image.layer.v1.tar+gzip+encrypted', 'encrypted'],
    ['application/vnd.in-toto+json', 'of a kind'],
    ['', 'of a kind'],
  ])('of the media type "%s" is not supported', async (mediaType, why) => {
    await expect(read(ARCHIVE, { mediaType })).rejects.toThrow(refusal(status.UNIMPLEMENTED));
    await expect(read(ARCHIVE, { mediaType })).rejects.toThrow(why);
  });

  it('in zstd is read on any Node, in several frames too and with what others are to skip', async () => {
    const whole = zstdFrame(ARCHIVE);
    const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
    const cut = [ARCHIVE.subarray(0, 300_000), ARCHIVE.subarray(300_000)].map((part) => zstdFrame(part));
    expect(await read(whole)).toEqual(['a', 'b']);
    expect(await read(Buffer.concat([...cut, skipped]))).toEqual(['a', 'b']);
    expect(await read(Buffer.concat([cut[0]!, skipped, cut[1]!]), { pieces: 999 })).toEqual(['a', 'b']);
  });

  it.skipIf(spawnSync('zstd', ['--version']).status !== 0)(
    'in zstd is read as the program zstd has written it',
    async () => {
      for (const level of ['-3', '--long=24']) {
        const { stdout } = spawnSync('zstd', ['-q', '-c', level], { input: ARCHIVE, maxBuffer: 2 ** 26 });
        expect(await read(stdout)).toEqual(['a', 'b']);
      }
    },
  );

  it.each([
    ['that is cut off', zstdFrame(ARCHIVE).subarray(0, 300_000)],
    ['that is damaged', damage(zstdFrame(ARCHIVE), 200_000)],
    ['of which only the first bytes are right', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, 7, 0, 0])],
  ])('in zstd %s is refused, and its source is let go', async (_, stored) => {
    let ended = 0;
    await expect(read(stored, { onEnd: () => ended++ })).rejects.toThrow(RpcError);
    expect(ended).toBe(1);
  });

  it.each([
    ['gigabytes of memory', zstdFrame(ARCHIVE, 0xa1)],
    ['them in its second frame', Buffer.concat([zstdFrame(ARCHIVE), zstdFrame(ARCHIVE, 0xa1)])],
    ['them for one segment', oneSegment(ARCHIVE, 2 ** 31 - 2 ** 22)],
  ])('in zstd that wants %s is refused by that, and its source is let go', async (_, stored) => {
    let ended = 0;
    await expect(read(stored, { onEnd: () => ended++ })).rejects.toThrow(/too much memory|more than 128 MiB/);
    expect(ended).toBe(1);
  });
});

/** A frame of blocks that are stored as they are, for a Node that cannot compress. */
function zstdFrame(content: Buffer, window = 0x38): Buffer {
  const parts: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window])];
  for (let at = 0; at < content.length; at += 100_000) {
    const block = content.subarray(at, at + 100_000);
    const isLast = at + block.length === content.length;
    const header = Buffer.alloc(3);
    header.writeUIntLE(block.length * 8 + (isLast ? 1 : 0), 0, 3);
    parts.push(header, block);
  }
  return Buffer.concat(parts);
}

/** A frame that is one segment, of a size that it only claims. */
function oneSegment(content: Buffer, size: number): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  header.writeUInt32LE(size, 5);
  return Buffer.concat([header, zstdFrame(content).subarray(6)]);
}

function damage(data: Buffer, at: number): Buffer {
  const changed = Buffer.from(data);
  changed.fill(0xff, at, at + 100);
  return changed;
}
