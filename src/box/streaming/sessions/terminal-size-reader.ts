import { type Readable } from 'node:stream';
import { type TerminalSize } from '../streaming-ports.js';

/**
 * A message is about 25 bytes; whoever sends this many without one talks nonsense. Of what comes at once no more is
 * looked at: of many sizes the last one holds, and a client must not keep us busy with what is none.
 */
const MAX_BYTES = 4 * 1024;
const LARGEST = 65_535;

/**
 * Reads the messages of a resize stream: JSON objects `{"Width":80,"Height":24}`, one after another, cut anywhere.
 *
 * A size of zero, one that no terminal can have and text that is no such message are passed over, and what stands before the
 * end of a flood of them.
 */
export function readTerminalSizes(stream: Readable, onSize: (size: TerminalSize) => void): void {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (chunk.length > MAX_BYTES) text = '';
    text += chunk.toString('latin1', Math.max(0, chunk.length - MAX_BYTES));
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = parseSize(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size !== undefined) onSize(size);
    }
    if (text.length > MAX_BYTES) text = '';
  });
  stream.on('error', () => undefined);
}

/** Not by JSON.parse: to throw takes it so long that nonsense would be dearer to read than to send. */
function parseSize(text: string): TerminalSize | undefined {
  const [columns, rows] = [WIDTH, HEIGHT].map((length) => Number(length.exec(text)?.[1]));
  return isLength(columns) && isLength(rows) ? { columns, rows } : undefined;
}

const WIDTH = /"Width"\s*:\s*(\d{1,5})\s*[,}]/;
const HEIGHT = /"Height"\s*:\s*(\d{1,5})\s*[,}]/;

function isLength(value: number | undefined): value is number {
  return value !== undefined && value > 0 && value <= LARGEST;
}
