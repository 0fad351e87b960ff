import { type FileHandle } from 'node:fs/promises';

/**
 * Hands on what comes of a file that was just opened. Where nothing comes of it the file is closed, as nobody else has
 * it yet.
 */
export async function closeOnFailure<Result>(file: FileHandle, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}
