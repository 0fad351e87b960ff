/**
 * Characters that have no shape of their own: they reorder, hide or break what is around them, so that a name can
 * look like another. The two joiners stay, as several scripts and emoji need them.
 */
const INVISIBLE =
  /[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\uDB40[\uDC00-\uDC7F]/g;

/**
 * Text from elsewhere, made harmless for a terminal the way kubectl does: what would command one is shown instead.
 * Characters that would reorder or hide text are shown, too.
 */
export function escapeTerminal(text: string): string {
  return showInvisible(text)
    .replaceAll('\u001B', '^[')
    .replaceAll('\r', String.raw`\r`)
    .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g, '\uFFFD');
}

/** Shows each character that has no shape as the escape that JSON has for it, such as `\u202E`. */
export function showInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, (found) =>
    [...found.split('')]
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
      .join(''),
  );
}

/** The cell of a table: its first line, with `...` behind it when there are more. */
export function toCell(text: string): string {
  const end = text.search(/[\f\n\r]/);
  const line = end < 0 ? text : `${text.slice(0, end)}...`;
  // A tab would begin the next column.
  return escapeTerminal(line).replaceAll('\t', ' ');
}
