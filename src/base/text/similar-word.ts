/**
 * The likely intended word: it differs only in case, or by one letter dropped, added or changed, or by two
 * swapped.
 */
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
  const different = Math.max(a.length, b.length) - start - end;
  const isSwapped = a.length === b.length && a[start] === b[start + 1] && a[start + 1] === b[start];
  return different <= 1 || (different === 2 && isSwapped);
}
