/** Characters of a line that look different: from one index up to another. */
export interface PictureMark {
  readonly begin: number;
  readonly end: number;
  /** Default: as the rest. */
  readonly colour?: PictureColour;
  readonly isBold?: boolean;
  /** The letters have the colour of the window, on their own. */
  readonly isInverse?: boolean;
}

/** A line of a terminal, one character for each of its cells. */
export interface PictureLine {
  readonly text: string;
  /** In order, none above another. */
  readonly marks?: readonly PictureMark[];
}

/** The colours that words have. */
export type PictureColour = keyof typeof COLOURS;

const CHARACTER_PX = 8.4;
const LINE_PX = 20;
const EDGE_PX = 18;
const BAR_PX = 30;
const WINDOW = '#0d1117';
const LETTERS = '#e6edf3';
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
  const rows = lines.map((line, at) => drawLine(line, BAR_PX + EDGE_PX + at * LINE_PX + 8));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escapeText(title)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${WINDOW}"/>`,
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

function drawLine({ text, marks = [] }: PictureLine, y: number): string {
  let [drawn, at] = ['', 0];
  for (const mark of marks) {
    drawn += drawText(text.slice(at, mark.begin), at, y, {});
    drawn += drawText(text.slice(mark.begin, mark.end), mark.begin, y, mark);
    at = mark.end;
  }
  return drawn + drawText(text.slice(at), at, y, {});
}

function drawText(
  text: string,
  column: number,
  y: number,
  { colour, isBold = false, isInverse = false }: Partial<PictureMark>,
): string {
  const own = colour === undefined ? LETTERS : COLOURS[colour];
  const xOf = (at: number): string => (EDGE_PX + at * CHARACTER_PX).toFixed(1);
  const ground = isInverse
    ? `<rect x="${xOf(column)}" y="${y - 15}" width="${(text.length * CHARACTER_PX).toFixed(1)}" height="${LINE_PX}" fill="${own}"/>`
    : '';
  const style = `fill="${isInverse ? WINDOW : own}"${isBold ? ' font-weight="bold"' : ''}`;
  // Browsers show one blank for several.
  const words = [...text.matchAll(/\S+(?: \S+)*/g)].map(({ 0: shown, index }) => {
    const length = (shown.length * CHARACTER_PX).toFixed(1);
    return `<text x="${xOf(column + index)}" y="${y}" ${style} textLength="${length}" lengthAdjust="spacingAndGlyphs">${escapeText(shown)}</text>`;
  });
  return ground + words.join('');
}

/** What stands for a text in markup. */
export function escapeText(text: string): string {
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
