import { PathReader } from './parse-path.js';
import { type Path, PathError, type TemplatePart } from './path-node.js';

/** A range whose end has not come yet. */
interface OpenRange {
  readonly path: Path;
  readonly parts: TemplatePart[];
}

/**
 * Parses a template: text as it is, and actions in braces, `{range PATH}…{end}` among them. A range without an end
 * goes to the end of the template. Throws {@link PathError}.
 */
export function parseTemplate(text: string): TemplatePart[] {
  const root: TemplatePart[] = [];
  const ranges: OpenRange[] = [];
  const close = (): boolean => {
    const range = ranges.pop();
    if (range === undefined) return false;
    (ranges.at(-1)?.parts ?? root).push({ kind: 'range', path: range.path, body: range.parts });
    return true;
  };
  for (let at = 0; at < text.length;) {
    const parts = ranges.at(-1)?.parts ?? root;
    const brace = text.indexOf('{', at);
    const plain = text.slice(at, brace < 0 ? undefined : brace);
    if (plain !== '') parts.push({ kind: 'text', text: plain });
    if (brace < 0) break;
    const { words, path, end } = new PathReader(text, brace + 1).read();
    at = end;
    const [word] = words;
    if (word === undefined) parts.push({ kind: 'path', path });
    else if (word === 'range') ranges.push({ path, parts: [] });
    else if (word !== 'end') throw new PathError(`unrecognized identifier ${word}`);
    else if (!close()) throw new PathError('not in range, nothing to end');
  }
  while (close());
  return root;
}

/**
 * What people write for the field of a column or an order, as a template: `metadata.name`, `.metadata.name`,
 * `{metadata.name}` and `{.metadata.name}` are all the last one.
 */
export function relaxTemplate(expression: string): string {
  if (expression === '') return '';
  const [, inside, bare] = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(expression) ?? [];
  const field = inside ?? bare;
  if (field === undefined) {
    throw new PathError(
      `unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'`,
    );
  }
  return `{.${field}}`;
}
