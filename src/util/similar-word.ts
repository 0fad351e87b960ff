/** The word that was likely meant by `word`: the same but for case, or one letter dropped, added or changed. */
export function findSimilarWord(word: string, candidates: readonly string[]): string | undefined {
  return candidates.find((candidate) => looksLike(candidate, word));
}

function looksLike(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return Math.max(a.length, b.length) - start - end <= 1;
}
