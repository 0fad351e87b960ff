/** What can be written to, as a FileHandle. */
export interface WritableFile {
  write(
    data: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>;
}

/**
 * Writes all bytes at a position in a file.
 *
 * A disk that becomes full during a write accepts a part and reports only the count; the next write fails
 * with the error.
 */
export async function writeFully(file: WritableFile, data: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < data.length;) {
    const { bytesWritten } = await file.write(data, at, data.length - at, position + at);
    at += bytesWritten;
  }
}
