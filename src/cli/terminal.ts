import { type WriteStream } from 'node:tty';

/** The terminal of the user: its size and its output. */
export interface Terminal {
  /** As of now. */
  readonly columns: number;
  /** As of now. */
  readonly rows: number;
  /** Writes as it is, control sequences included. Never throws. */
  write(text: string): void;
  /** Calls `listener` whenever the size changes, until the returned function is called. */
  readonly onResize: (listener: () => void) => () => void;
  /** Calls `listener` when the process ends, however it ends itself, until the returned function is called. */
  onExit(listener: () => void): () => void;
}

/** The part of a {@link Terminal} that a program elsewhere has to know to draw in it. */
export type TerminalWindow = Pick<Terminal, 'columns' | 'rows' | 'onResize'>;

/** The part of `process` that {@link findTerminal} uses. */
export interface ExitSource {
  on(event: 'exit', listener: () => void): unknown;
  off(event: 'exit', listener: () => void): unknown;
}

/** The assumed size of a terminal that reports none, for example on a serial line. */
const DEFAULT_SIZE = { columns: 80, rows: 24 } as const;

/** The terminal behind a stream; undefined when that is a file or a pipe, or knows no control sequences. */
export function findTerminal(
  stream: WriteStream,
  process: ExitSource,
  env: Readonly<Record<string, string | undefined>>,
): Terminal | undefined {
  const window = env['TERM'] === 'dumb' ? undefined : findWindow(stream);
  if (window === undefined) return undefined;
  return {
    get columns() {
      return window.columns;
    },
    get rows() {
      return window.rows;
    },
    onResize: window.onResize,
    write: (text) => {
      if (stream.writable) stream.write(text);
    },
    onExit: (listener) => {
      process.on('exit', listener);
      return () => process.off('exit', listener);
    },
  };
}

/** The size of the terminal behind a stream; undefined when that is a file or a pipe. */
export function findWindow(stream: WriteStream): TerminalWindow | undefined {
  // A stream that is no terminal has no such property.
  if ((stream.isTTY as boolean | undefined) !== true) return undefined;
  return {
    get columns() {
      return stream.columns > 0 ? stream.columns : DEFAULT_SIZE.columns;
    },
    get rows() {
      return stream.rows > 0 ? stream.rows : DEFAULT_SIZE.rows;
    },
    onResize: (listener) => {
      stream.on('resize', listener);
      return () => stream.off('resize', listener);
    },
  };
}
