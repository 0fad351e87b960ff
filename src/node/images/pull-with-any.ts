import { type PullCredential } from './pull-logins.js';

/** A pull that succeeded, and with what. */
export interface WelcomePull {
  readonly imageRef: string;
  readonly credential: PullCredential | undefined;
}

/** Pulls with one login after the other until one is welcome; without any where there are none. Rejects with what the last one failed with. */
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
