/** The two outputs of a container. */
export type LogStream = 'stdout' | 'stderr';

/** Longer lines are cut into parts of this many bytes, as other CRI runtimes do. */
export const MAX_LOG_LINE_BYTES = 16 * 1024;

const NEWLINE = 0x0a;
const LINE_END = Buffer.of(NEWLINE);

/** A piece of output as it stands in a log, and how much of the input it covers. */
export interface FormattedOutput {
  readonly text: Buffer;
  /** Bytes of the input that are in `text`; the rest is the beginning of a line that goes on. */
  readonly consumed: number;
}

/**
 * Output in the format of CRI logs: `2006-01-02T15:04:05.999999999Z stdout F content`.
 *
 * The tag is F for a line, P for a part of one: what is longer than {@link MAX_LOG_LINE_BYTES}, and the rest
 * without a newline when `final` says that no more will come.
 */
export function formatCriLog(
  input: Buffer,
  stream: LogStream,
  timestamp: string,
  final: boolean,
): FormattedOutput {
  const full = Buffer.from(`${timestamp} ${stream} F `);
  const partial = Buffer.from(`${timestamp} ${stream} P `);
  const pieces: Buffer[] = [];
  let at = 0;
  while (at < input.length) {
    const newline = input.indexOf(NEWLINE, at);
    const end = newline < 0 ? input.length : newline;
    if (end - at > MAX_LOG_LINE_BYTES || (newline < 0 && (end - at === MAX_LOG_LINE_BYTES || final))) {
      const cut = Math.min(end, at + MAX_LOG_LINE_BYTES);
      pieces.push(partial, input.subarray(at, cut), LINE_END);
      at = cut;
    } else if (newline >= 0) {
      pieces.push(full, input.subarray(at, newline + 1));
      at = newline + 1;
    } else break;
  }
  return { text: Buffer.concat(pieces), consumed: at };
}

/** How much output a piece of a log holds, and where its last whole line ends. */
export interface LogContent {
  readonly stdout: number;
  readonly stderr: number;
  /** Bytes up to and with the last newline. */
  readonly wholeBytes: number;
}

/** Counts the bytes of output that are in a piece of log, which begins at the beginning of a line. */
export function measureCriLog(log: Buffer): LogContent {
  const bytes = { stdout: 0, stderr: 0 };
  let at = 0;
  for (let end = log.indexOf(NEWLINE); end >= 0; end = log.indexOf(NEWLINE, at)) {
    const streamAt = log.indexOf(0x20, at) + 1;
    const stream = log.toString('latin1', streamAt, streamAt + 6);
    const tag = log[streamAt + 7];
    // Content begins behind the tag and its space; the newline is the container's own only behind F.
    const content = end - (streamAt + 9) + (tag === 0x46 ? 1 : 0);
    if (streamAt > 0 && streamAt < end && (stream === 'stdout' || stream === 'stderr')) {
      bytes[stream] += Math.max(0, content);
    }
    at = end + 1;
  }
  return { ...bytes, wholeBytes: at };
}
