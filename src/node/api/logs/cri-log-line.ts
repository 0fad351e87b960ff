/**
 * Lines of a container's log as CRI runtimes write them: `2026-01-02T03:04:05.678901234Z stdout F hello`.
 *
 * Source: https://github.com/kubernetes/cri-api and the kubelet's logging design: time, stream, tags, text;
 * the tag P means that the line continues in the next one of that stream.
 *
 * @module
 */

/** One line of the file. */
export interface CriLogLine {
  /** As written, RFC 3339. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** The program's line continues. */
  readonly isPartial: boolean;
  /** Without the line's end. A view of the buffer that it was read from. */
  readonly text: Buffer;
}

const SPACE = 0x20;
const PARTIAL = 0x50;
const MAX_TIME_LENGTH = 40;

/** Parses a line without its end; undefined when a runtime did not write it. */
export function parseCriLogLine(line: Buffer): CriLogLine | undefined {
  const timeEnd = line.indexOf(SPACE);
  if (timeEnd < 20 || timeEnd > MAX_TIME_LENGTH) return undefined;
  const streamEnd = line.indexOf(SPACE, timeEnd + 1);
  if (streamEnd === -1) return undefined;
  const stream = line.toString('latin1', timeEnd + 1, streamEnd);
  if (stream !== 'stdout' && stream !== 'stderr') return undefined;
  const tagsEnd = line.indexOf(SPACE, streamEnd + 1);
  const isPartial = line[streamEnd + 1] === PARTIAL;
  // An empty line of a program may end with its tag.
  const text = tagsEnd === -1 ? line.subarray(line.length) : line.subarray(tagsEnd + 1);
  return { time: line.toString('latin1', 0, timeEnd), stream, isPartial, text };
}

/** Whether a physical line ends a line of a program; one that a runtime did not write does. */
export function endsLine(line: Buffer): boolean {
  return parseCriLogLine(line)?.isPartial !== true;
}

/** Nanoseconds since the epoch; undefined when it is invalid. */
export function timeToNs(time: string): bigint | undefined {
  const found = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(time);
  if (found === null) return undefined;
  const [, seconds = '', fraction = '', zone = ''] = found;
  const ms = Date.parse(seconds + zone);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}
