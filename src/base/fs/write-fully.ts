import { type FileHandle } from 'node:fs/promises';

/**
 * Writes all of it at a place in a file. A disk that becomes full within a write takes a part and says so by the count
 * alone; what is wrong is told by the next write.
 */
export async function writeFully(
  file: Pick<FileHandle, 'write'>,
  data: Uint8Array,
  position: number,
): Promise<void> {
  for (let at = 0; at < data.length;) {
    const { bytesWritten } = await file.write(data, at, data.length - at, position + at);
    at += bytesWritten;
  }
}
