/**
 * Characters that have no shape of their own: they reorder, hide or break what is around them, so that a name can
 * look like another. The two joiners stay, as several scripts and emoji need them.
 */
const INVISIBLE =
  /[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\uDB40[\uDC00-\uDC7F]/g;

/** Shows each character that has no shape as the escape that JSON has for it, such as `\u202E`. */
export function showInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, (found) =>
    [...found.split('')]
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
      .join(''),
  );
}
