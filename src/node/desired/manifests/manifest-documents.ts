/**
 * Finds the documents of a YAML file by their lines, so that one can be replaced or cut out and the others
 * stay as they were written, with their comments.
 *
 * A line that begins with `---` separates documents wherever it stands: YAML allows none inside a text. Files that need
 * more than that to be taken apart (directives, `...`, content behind `---`) have no such documents here.
 *
 * @module
 */

/** The lines of one document, without the separator before it. */
export interface ManifestDocument {
  readonly start: number;
  readonly end: number;
}

const SEPARATOR = /^---[ \t]*(?:#.*)?\r?$/;
/** What begins or ends a document in another way. */
const OTHER_MARK = /^(?:%|\.\.\.(?:\s|$)|---(?:\s|$))/;

/** The documents of a text, in order; undefined for one that lines alone do not take apart. */
export function splitDocuments(text: string): readonly ManifestDocument[] | undefined {
  const documents: ManifestDocument[] = [];
  let [start, at] = [0, 0];
  for (const line of text.split('\n')) {
    const next = Math.min(at + line.length + 1, text.length);
    if (SEPARATOR.test(line)) {
      documents.push({ start, end: at });
      start = next;
    } else if (OTHER_MARK.test(line)) return undefined;
    at = next;
  }
  return [...documents, { start, end: text.length }];
}

/** The text with other content in one document; comments above that document's content stay. */
export function replaceDocument(text: string, { start, end }: ManifestDocument, content: string): string {
  const head = /^(?:[ \t]*(?:#[^\n]*)?\n)*/.exec(text.slice(start, end))![0];
  return `${text.slice(0, start)}${head}${content}${text.slice(end)}`;
}

/** The text without one document, and without the separator before it, or behind the first. */
export function cutDocument(text: string, { start, end }: ManifestDocument): string {
  const lineEnd = (offset: number): number => {
    const found = text.indexOf('\n', offset);
    return found < 0 ? text.length : found + 1;
  };
  if (start === 0) return text.slice(lineEnd(end));
  const before = text.lastIndexOf('\n', start - 2) + 1;
  return text.slice(0, before) + text.slice(end);
}
