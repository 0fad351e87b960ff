import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { ZstdFrames } from './zstd-frames.js';

/** What the frames of a stream want, in pieces of any length. */
function windowsOf(stream: Buffer, pieces: number): number[] {
  const windows: number[] = [];
  const frames = new ZstdFrames((bytes) => void windows.push(bytes));
  for (let at = 0; at < stream.length; at += pieces) frames.add(stream.subarray(at, at + pieces));
  return windows;
}

const frame = (descriptor: number, fields: readonly number[], blocks: readonly Buffer[], more = 0): Buffer =>
  Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor, ...fields]),
    ...blocks,
    Buffer.alloc(more),
  ]);
const block = (isLast: boolean, type: number, size: number): Buffer => {
  const header = Buffer.alloc(3);
  header.writeUIntLE(Number(isLast) + (type << 1) + (size << 3), 0, 3);
  // Of a repeated byte there is one. All of them look like the beginning of a frame.
  return Buffer.concat([header, Buffer.alloc(type === 1 ? 1 : size, Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))]);
};
const BLOCKS = [block(false, 0, 300), block(false, 1, 131_072), block(true, 2, 70)];

it.each<[string, Buffer, number[]]>([
  ['a window', frame(0x00, [0x38], BLOCKS), [2 ** 17]],
  ['a window and an eighth', frame(0x00, [0x39], BLOCKS), [2 ** 17 + 2 ** 14]],
  ['a checksum', frame(0x04, [0x38], BLOCKS, 4), [2 ** 17]],
  ['a dictionary', frame(0x03, [0x38, 1, 2, 3, 4], BLOCKS), [2 ** 17]],
  ['one segment of a byte', frame(0x20, [9], BLOCKS), [9]],
  ['one segment of two', frame(0x60, [1, 1], BLOCKS), [257 + 256]],
  ['one segment of four, and a dictionary', frame(0xa2, [0, 0, 0, 0, 0, 0x10], BLOCKS), [2 ** 28]],
  ['one segment of eight', frame(0xe0, [0, 0, 0, 0, 0, 1, 0, 0], BLOCKS), [2 ** 40]],
  ['the size of its content, too', frame(0x80, [0x38, 1, 2, 3, 4], BLOCKS), [2 ** 17]],
])('in a frame with %s, whatever frames stand before and behind it', (_, stream, windows) => {
  const skipped = Buffer.from([0x5f, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd]);
  const first = frame(0x04, [0x08], [block(true, 1, 7)], 4);
  const all = Buffer.concat([first, skipped, stream, skipped, stream]);
  for (const pieces of [1, 2, 3, 7, 100, all.length])
    expect(windowsOf(all, pieces)).toEqual([2_048, ...windows, ...windows]);
});

it('asks nothing of what is no frame', () => {
  expect(windowsOf(Buffer.concat([frame(0, [0x38], BLOCKS), Buffer.from('no frame at all')]), 5)).toEqual([
    2 ** 17,
  ]);
  expect(windowsOf(randomBytes(1_000).fill(0, 0, 4), 10)).toEqual([]);
});

const hasZstd = spawnSync('zstd', ['--version']).status === 0;
it.skipIf(!hasZstd)('finds each frame that the program zstd has written', () => {
  const pack = (content: Buffer, ...args: string[]): Buffer =>
    spawnSync('zstd', ['-q', '-c', ...args], { input: content, maxBuffer: 2 ** 26 }).stdout;
  const parts = [
    pack(randomBytes(300_000), '-3'),
    pack(Buffer.alloc(3_000_000), '--check'),
    pack(Buffer.alloc(1), '--no-check'),
    pack(randomBytes(500_000), '--long=24'),
  ];
  const windows = windowsOf(Buffer.concat(parts), 10_000);
  expect(windows).toHaveLength(parts.length);
  for (const window of windows) expect(window).toBeLessThanOrEqual(2 ** 24);
});
