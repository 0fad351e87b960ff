import { type ContainerRecord } from '../container-record.js';

/** Which streams of a container somebody wants. */
export interface ContainerStreams {
  /** For a log, or for whoever attaches. */
  readonly output: boolean;
  /** Kept open, ended with the first writer, or none. */
  readonly input: 'open' | 'once' | 'none';
  readonly tty: boolean;
}

/** A container somebody may attach to needs its output kept, log or not. */
export function streamsOf({ config, logPath }: ContainerRecord): ContainerStreams {
  const { stdin, stdinOnce, tty } = config;
  return {
    output: logPath !== '' || stdin || tty,
    // The end of input reaches a terminal as a Ctrl-D.
    input: stdin && stdinOnce && !tty ? 'once' : stdin || tty ? 'open' : 'none',
    tty,
  };
}

/** As the supervisor's script understands them. */
export function toStreamWords({ output, input, tty }: ContainerStreams): string {
  const inputWord = { open: 'stdin', once: 'once', none: '' }[input];
  return [output ? 'log' : '', inputWord, tty ? 'tty' : ''].filter((word) => word !== '').join(' ');
}
