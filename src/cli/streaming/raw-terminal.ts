import { type Readable } from 'node:stream';

/** The part of a terminal's input that is used here. */
interface TerminalInput {
  readonly isTTY: boolean;
  setRawMode(isRaw: boolean): unknown;
}

/** Whether a person types there. */
export function isTerminalInput(stdin: Readable): boolean {
  return (stdin as Partial<TerminalInput>).isTTY === true;
}

/**
 * Hands every key on as it is, Ctrl-C among them, until the returned function is called. Node itself restores the
 * terminal when the process ends before that.
 */
export function makeRaw(stdin: Readable): () => void {
  const terminal = stdin as Readable & TerminalInput;
  terminal.setRawMode(true);
  let isRaw = true;
  return () => {
    if (isRaw) terminal.setRawMode(false);
    isRaw = false;
  };
}
