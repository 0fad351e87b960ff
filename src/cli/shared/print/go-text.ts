/** A value as Go's fmt.Sprint prints what JSON holds: `map[a:1 b:2]`, `[x y]`, `<nil>`. */
export function toGoText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map((one) => toGoText(one)).join(' ')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${entries.map(([key, one]) => `${key}:${toGoText(one)}`).join(' ')}]`;
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
