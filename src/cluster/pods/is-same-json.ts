/**
 * Whether two pieces of JSON say the same to an API server: it leaves out what is null, and empty text, lists and objects
 * say no more than what is absent. The order of keys does not count.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (saysNothing(one) && saysNothing(other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => isSameJson(item, (other as unknown[])[index]));
  }
  const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => isSameJson(a[key], b[key]));
}

function saysNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(saysNothing);
}
