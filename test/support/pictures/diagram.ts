import { escapeText } from './terminal-picture.js';

/** A box with a name and what it does, or only words on the ground. Lengths are in pixels. */
export interface DiagramBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly name: string;
  /** A row each, smaller and below the name. */
  readonly rows?: readonly string[];
  /** Default: podloop's own. */
  readonly tone?: 'own' | 'other' | 'ground';
}

/** A line through these points, with a head at its end. */
export interface DiagramArrow {
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly label?: { readonly x: number; readonly y: number; readonly text: string };
  /** No head, and in dashes: something that lasts. */
  readonly isDashed?: boolean;
}

/** What {@link drawDiagram} draws. */
export interface Diagram {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly DiagramBox[];
  readonly arrows: readonly DiagramArrow[];
}

const NAME_PX = 12.5;
const ROW_PX = 12;
const LINE_PX = 17;
/** The width of a character beside its height, in wide fonts; names are bold. */
const [WIDTH_IN_NAME, WIDTH_IN_ROW] = [0.65, 0.54] as const;
const EDGE_PX = 8;
const GROUND = '#0d1117';
const GREY = '#8b949e';
const TONES = {
  own: { fill: '#161b22', stroke: '#2f81f7', name: '#e6edf3' },
  other: { fill: '#161b22', stroke: '#6e7681', name: '#e6edf3' },
  ground: { fill: 'none', stroke: 'none', name: GREY },
} as const;

/**
 * Draws boxes and arrows as SVG for pages, in the colours of the pictures of terminals. Pure.
 *
 * Throws for words that do not fit into their box.
 */
export function drawDiagram({ title, width, height, boxes, arrows }: Diagram): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escapeText(title)}">`,
    `<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="${GREY}"/></marker></defs>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${GROUND}"/>`,
    `<g font-family="system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif">`,
    ...arrows.map((arrow) => drawArrow(arrow)),
    ...boxes.map((box) => drawBox(box)),
    ...arrows.flatMap(({ label }) =>
      label === undefined ? [] : [drawWords(label.text, label.x, label.y, ROW_PX, GREY, 'start')],
    ),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function drawBox({ x, y, width, height, name, rows = [], tone = 'own' }: DiagramBox): string {
  const { fill, stroke, name: colour } = TONES[tone];
  const fits = (text: string, perCharacter: number): boolean => text.length * perCharacter <= width - EDGE_PX;
  if (!fits(name, NAME_PX * WIDTH_IN_NAME) || !rows.every((row) => fits(row, ROW_PX * WIDTH_IN_ROW)))
    throw new Error(`the words of "${name}" do not fit into a box of ${width} pixels`);
  const middle = x + width / 2;
  const top = y + height / 2 - (rows.length * LINE_PX) / 2 + NAME_PX / 3;
  const words = [
    drawWords(name, middle, top, NAME_PX, colour, 'middle', tone !== 'ground'),
    ...rows.map((row, at) => drawWords(row, middle, top + (at + 1) * LINE_PX, ROW_PX, GREY, 'middle')),
  ];
  const ground =
    fill === 'none'
      ? ''
      : `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="${fill}" stroke="${stroke}"/>`;
  return ground + words.join('');
}

function drawArrow({ points, isDashed = false }: DiagramArrow): string {
  const path = points.map(([x, y]) => `${x} ${y}`).join(' ');
  const style = isDashed ? 'stroke-dasharray="3 5"' : 'marker-end="url(#head)"';
  return `<path d="M${path}" fill="none" stroke="${GREY}" stroke-width="1.5" ${style}/>`;
}

function drawWords(
  text: string,
  x: number,
  y: number,
  size: number,
  colour: string,
  anchor: 'start' | 'middle',
  isBold = false,
): string {
  const weight = isBold ? ' font-weight="600"' : '';
  return `<text x="${x}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-size="${size}" fill="${colour}"${weight}>${escapeText(text)}</text>`;
}
