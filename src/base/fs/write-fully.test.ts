import { type FileHandle } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { writeFully } from './write-fully.js';

/** A disk that accepts `most` bytes at a time, and `room` in all. */
function diskOf(most: number, room: number): { readonly file: Pick<FileHandle, 'write'>; text(): string } {
  const bytes = Buffer.alloc(100, '.');
  let left = room;
  const write = async (data: Buffer, offset: number, length: number, position: number) => {
    if (left === 0) throw new Error('ENOSPC');
    const bytesWritten = Math.min(length, most, left);
    data.copy(bytes, position, offset, offset + bytesWritten);
    left -= bytesWritten;
    return Promise.resolve({ bytesWritten, buffer: data });
  };
  return { file: { write } as unknown as Pick<FileHandle, 'write'>, text: () => bytes.toString('latin1') };
}

it('writes the rest after a partial write, each byte at its position', async () => {
  const disk = diskOf(4, 100);
  await writeFully(disk.file, Buffer.from('hello world'), 3);
  expect(disk.text().slice(0, 16)).toBe('...hello world..');
});

it('rejects when a disk has accepted a part and is full', async () => {
  await expect(writeFully(diskOf(100, 5).file, Buffer.from('hello world'), 0)).rejects.toThrow('ENOSPC');
});

it('writes nothing for empty content', async () => {
  await writeFully(diskOf(4, 0).file, Buffer.alloc(0), 0);
});
