import { type FileHandle } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { systemCodeOf } from '#base/errors/system-code.js';

const BLOCK_BYTES = 64 * 1024;

/** Reads a file from an offset to its end, block by block; each block reuses the same buffer. */
export async function* blocksOf(file: FileHandle, start: number): AsyncGenerator<Buffer, void, undefined> {
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (let offset = start; ;) {
    const { bytesRead } = await file.read(block, 0, block.length, offset);
    if (bytesRead === 0) return;
    offset += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}

/** The content of a compressed file, up to where it is broken: anybody may have put it there. */
export async function* gunzip(file: FileHandle): AsyncGenerator<Buffer, void, undefined> {
  const source = file.createReadStream({ autoClose: false, start: 0 });
  const unzip = createGunzip();
  source.on('error', (error) => unzip.destroy(error));
  source.pipe(unzip);
  try {
    for await (const chunk of unzip as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    const code = systemCodeOf(error);
    if (!code.startsWith('Z_')) throw error;
  } finally {
    source.destroy();
    unzip.destroy();
  }
}
