import { PathError } from './path-node.js';

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '\\': '\\' },
  ...{ "'": "'", '"': '"' },
};

/** The text between quotes with Go's escapes resolved: `\n`, `\t`, `\x41`, `\u00e9`, `\101`. */
export function unquote(quoted: string): string {
  const quote = quoted[0]!;
  const body = quoted.slice(1, -1);
  const pattern = /\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[0-7]{3}|.)?/gis;
  return body.replaceAll(pattern, (_, escape: string | undefined) => {
    const code = escape === undefined ? undefined : codeOf(escape);
    if (code !== undefined) return String.fromCodePoint(code);
    const plain = escape === undefined ? undefined : ESCAPES[escape];
    // Of the two quotes only the one around the text may be escaped.
    const isOther = (escape === '"' || escape === "'") && escape !== quote;
    if (plain === undefined || isOther) throw new PathError(`unquote string ${quoted} error invalid syntax`);
    return plain;
  });
}

function codeOf(escape: string): number | undefined {
  if (/^[xuU]./.test(escape)) return Number.parseInt(escape.slice(1), 16);
  return /^[0-7]{3}$/.test(escape) ? Number.parseInt(escape, 8) : undefined;
}
