/** A line of a terminal: words that stand out in front of the rest. */
export interface PictureLine {
  readonly text: string;
  /** How many characters of its beginning stand out, and in which colour. */
  readonly mark?: { readonly length: number; readonly colour: 'red' | 'yellow' | 'green' | 'grey' };
}

const CHARACTER_PX = 8.4;
const LINE_PX = 20;
const EDGE_PX = 18;
const BAR_PX = 30;
const COLOURS = { red: '#ff7b72', yellow: '#e3b341', green: '#7ee787', grey: '#8b949e' } as const;

/**
 * Draws lines as a terminal shows them, as SVG for pages: a window with a title, one line below another. Pure.
 *
 * The letters are those of the reader's machine; each line is stretched to its width in a terminal, so that columns stay columns.
 */
export function drawTerminal(title: string, lines: readonly PictureLine[]): string {
  const columns = Math.max(title.length, ...lines.map(({ text }) => text.length));
  const width = Math.ceil(columns * CHARACTER_PX + 2 * EDGE_PX);
  const height = BAR_PX + lines.length * LINE_PX + 2 * EDGE_PX - 8;
  const rows = lines.map(({ text, mark }, at) => {
    const y = BAR_PX + EDGE_PX + at * LINE_PX + 8;
    const cut = mark?.length ?? 0;
    const head = mark === undefined ? '' : drawText(text.slice(0, cut), 0, y, COLOURS[mark.colour], true);
    return `${head}${drawText(text.slice(cut), cut, y, '#e6edf3', false)}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escapeText(title)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, at) => `<circle cx="${EDGE_PX + at * 18}" cy="16" r="5.5" fill="${fill}"/>`,
    ),
    `<text x="${width / 2}" y="21" text-anchor="middle" font-family="sans-serif" font-size="13" fill="#8b949e">${escapeText(title)}</text>`,
    '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'Liberation Mono\', monospace" font-size="14" xml:space="preserve">',
    ...rows.filter((row) => row !== ''),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function drawText(text: string, column: number, y: number, fill: string, isBold: boolean): string {
  const words = text.trimEnd();
  if (words.trim() === '') return '';
  const indent = words.length - words.trimStart().length;
  const x = EDGE_PX + (column + indent) * CHARACTER_PX;
  const shown = words.trimStart();
  const weight = isBold ? ' font-weight="bold"' : '';
  const length = (shown.length * CHARACTER_PX).toFixed(1);
  return `<text x="${x.toFixed(1)}" y="${y}" fill="${fill}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs">${escapeText(shown)}</text>`;
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Breaks a line behind a blank where it is longer than so many columns; what follows is indented as the line is, and two more. */
export function wrapLine(text: string, columns: number): string[] {
  const indent = ' '.repeat(/^ */.exec(text)![0].length + 2);
  const lines: string[] = [];
  let rest = text;
  while (rest.length > columns) {
    const at = rest.lastIndexOf(' ', columns);
    if (at <= indent.length) break;
    lines.push(rest.slice(0, at));
    rest = `${indent}${rest.slice(at + 1)}`;
  }
  return [...lines, rest];
}
