/**
 * Whether the first of two versions of one kind of object was there before the other.
 *
 * Versions are numbers that count up within a kind, whichever object they are of. Where they are not, nothing can be said:
 * false.
 *
 * @see https://github.com/kubernetes/enhancements/issues/5504
 */
export function isSurelyOlder(one = '', other = ''): boolean {
  if (!isNumber(one) || !isNumber(other)) return false;
  return one.length === other.length ? one < other : one.length < other.length;
}

/** The same, for those who take what came last for newer where nothing can be said. */
export function isOlderUnlessUnknown(one = '', other = ''): boolean {
  return !isNumber(one) || !isNumber(other) || isSurelyOlder(one, other);
}

function isNumber(version: string): boolean {
  return /^\d+$/.test(version);
}
