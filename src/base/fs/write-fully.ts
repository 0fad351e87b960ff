import { type FileHandle } from 'node:fs/promises';

/**
 * Writes all bytes at a position in a file.
 *
 * A disk that becomes full during a write accepts a part and reports only the count; the next write fails
 * with the error.
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
