/** Without vowels, and without digits that look like letters: as Kubernetes chooses them. */
export const SAFE_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const LENGTH = 5;

/** Five characters, as at the end of names that Kubernetes generates. `random`: at least 0 and less than 1. */
export function randomSuffix(random: () => number): string {
  const letters = Array.from({ length: LENGTH }, () => Math.floor(random() * SAFE_LETTERS.length));
  return letters.map((index) => SAFE_LETTERS[index]!).join('');
}
