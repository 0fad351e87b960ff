import { showInvisible } from '#base/text/show-invisible.js';

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

/** The cell of a table: its first line, with `...` behind it when there are more. */
export function toCell(text: string): string {
  const end = text.search(/[\f\n\r]/);
  const line = end < 0 ? text : `${text.slice(0, end)}...`;
  // A tab would begin the next column.
  return escapeTerminal(line).replaceAll('\t', ' ');
}
