import { type Readable } from 'node:stream';
import { type TerminalSize } from './streaming-ports.js';

/** A message is about 25 bytes; whoever sends this many without one talks nonsense. */
const MOST_BYTES = 4 * 1024;
const LARGEST = 65_535;

/**
 * Reads the messages of a resize stream: JSON objects `{"Width":80,"Height":24}`, one after another, cut anywhere.
 *
 * A size of zero, one that no terminal can have and text that is no JSON are passed over.
 */
export function readTerminalSizes(stream: Readable, onSize: (size: TerminalSize) => void): void {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = parseSize(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size !== undefined) onSize(size);
    }
    if (text.length > MOST_BYTES) text = '';
  });
  stream.on('error', () => undefined);
}

function parseSize(text: string): TerminalSize | undefined {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { Width: columns, Height: rows } = message as { Width?: unknown; Height?: unknown };
  return isLength(columns) && isLength(rows) ? { columns, rows } : undefined;
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= LARGEST;
}
