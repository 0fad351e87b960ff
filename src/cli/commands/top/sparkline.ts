const LEVELS = '▁▂▃▄▅▆▇█';

/**
 * The last values as one character each, the lowest for nothing and the highest for the greatest of them; a space where
 * a value is not known.
 */
export function sparkline(values: readonly (number | undefined)[], length: number): string {
  if (length <= 0) return '';
  const shown = values.slice(-length);
  const greatest = Math.max(0, ...shown.map((value) => value ?? 0));
  return shown.map((value) => (value === undefined ? ' ' : levelOf(value, greatest))).join('');
}

function levelOf(value: number, greatest: number): string {
  const level = greatest > 0 ? Math.round((Math.max(0, value) / greatest) * (LEVELS.length - 1)) : 0;
  return LEVELS[level]!;
}
