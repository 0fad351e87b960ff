import { parseSync } from 'rolldown/utils';

/**
 * Takes the tabs from the beginnings of lines, which are a twentieth of the program. Lines stay lines, so that stacks can be read;
 * what stands in a template is text and stays as it is. `indents` has the number of tabs that each line has lost.
 */
export function withoutIndents(code) {
  const { program, errors } = parseSync('chunk.js', code);
  if (errors.length > 0) throw new Error(`the bundle cannot be parsed: ${errors[0].message}`);
  const templates = listTemplates(program).sort((a, b) => a.start - b.start);
  const indents = [];
  let [at, next] = [0, 0];
  const lines = code.split('\n').map((line) => {
    const start = at;
    at += line.length + 1;
    while (next < templates.length && templates[next].end < start) next++;
    const isText = next < templates.length && templates[next].start < start;
    const indent = isText ? 0 : /^\t*/.exec(line)[0].length;
    indents.push(indent);
    return line.slice(indent);
  });
  return { code: lines.join('\n'), indents };
}

/** The pieces of text of all templates below a node of the syntax tree. */
function listTemplates(node) {
  if (Array.isArray(node)) return node.flatMap(listTemplates);
  if (typeof node !== 'object' || node === null) return [];
  if (node.type === 'TemplateElement') return [node];
  return Object.values(node).flatMap(listTemplates);
}
