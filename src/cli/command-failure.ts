/**
 * How a command ends that has said all there is to say in lines of its own: they are written to standard error as they
 * are, and {@link exitCode} becomes the program's.
 */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly lines: readonly string[];
  readonly exitCode: number;
  /** Whether root could do it; the line that does it as root follows then. */
  readonly needsRoot: boolean;

  constructor(lines: readonly string[], exitCode = 1, { needsRoot = false } = {}) {
    super(lines.join('\n'));
    this.lines = lines;
    this.exitCode = exitCode;
    this.needsRoot = needsRoot;
  }
}

/** A failure in kubectl's form for what its own side finds wrong: `error: ` and the message, exit code 1. */
export function failure(message: string, options?: { readonly needsRoot: boolean }): CommandFailure {
  return new CommandFailure([`error: ${message}`], 1, options);
}

/** A wrong use of a command: the message, and where its help is. */
export function usageFailure(message: string, command: string): CommandFailure {
  return new CommandFailure([
    ...`error: ${message}`.split('\n'),
    `See 'podloop ${command} -h' for help and examples`,
  ]);
}
