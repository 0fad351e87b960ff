import { systemCodeOf } from '#base/errors/system-code.js';

/** What the system says of files that are reached through an open folder: meaningless to people. */
const BY_HANDLE = /\/proc\/self\/fd\/\d+[^']*/g;

/** Does something with a file, and has errors of the system name its path instead of the handle it was reached by. */
export async function naming<Result>(path: string, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === '') throw error;
    const { message } = error as Error;
    throw Object.assign(
      new Error(
        message.replaceAll(BY_HANDLE, () => path),
        { cause: error },
      ),
      { code },
    );
  }
}
