import { type PullCredential } from './pull-logins.js';

/** A successful pull, and its login. */
export interface WelcomePull {
  readonly imageRef: string;
  readonly credential: PullCredential | undefined;
}

/**
 * Tries one login after the other until one is accepted; without any if there are none. Rejects with the last
 * error.
 */
export async function pullWithAny(
  credentials: readonly PullCredential[],
  pull: (credential: PullCredential | undefined) => Promise<string>,
): Promise<WelcomePull> {
  const [...left] = credentials;
  for (;;) {
    const credential = left.shift();
    try {
      return { imageRef: await pull(credential), credential };
    } catch (error) {
      if (left.length === 0) throw error;
    }
  }
}
