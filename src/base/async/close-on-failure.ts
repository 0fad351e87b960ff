import { type FileHandle } from 'node:fs/promises';

/**
 * Runs an action on a file that was just opened, and closes the file if the action fails.
 *
 * Nobody else has the file yet, so nobody else would close it.
 */
export async function closeOnFailure<Result>(file: FileHandle, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}
