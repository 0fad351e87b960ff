import { setFlagsFromString } from 'node:v8';

/** A setting of V8, and the releases of Node (their first number) that are known to have it. */
interface EngineFlag {
  readonly name: string;
  readonly value: number;
  readonly releases: readonly number[];
}

/**
 * An agent does little of very much: most of its code runs some hundred times, while pods come and go. What V8 does for programs
 * that do much of little costs it more than it gives; `benchmarks/cluster` shows by how much.
 */
const FLAGS: readonly EngineFlag[] = [
  // Bytes of bytecode that a function runs before it is compiled with all that V8 can, on threads of its own; that is 66 KiB
  // unless told. Later releases have a compiler in between and need none of this.
  { name: 'interrupt-budget', value: 1_000_000, releases: [20] },
  // The space for new objects begins with 1 MiB and doubles at most: a burst of pods is over before it has grown.
  { name: 'semi-space-growth-factor', value: 16, releases: [20, 22, 24] },
];

/**
 * The flags to set, as V8 reads them, for a release of Node such as `20.20.2`: V8 complains of those that it does not know.
 * Whoever starts Node with one of them (`execArgv`) is heeded.
 */
export function chooseEngineFlags(nodeVersion: string, execArgv: readonly string[]): string[] {
  const release = Number.parseInt(nodeVersion, 10);
  const isGiven = (name: string): boolean =>
    execArgv.some((argument) => argument.replaceAll('_', '-').startsWith(`--${name}=`));
  return FLAGS.filter(({ name, releases }) => releases.includes(release) && !isGiven(name)).map(
    ({ name, value }) => `--${name}=${value}`,
  );
}

/** Sets them for this process; see {@link chooseEngineFlags}. */
export function setEngineFlags(nodeVersion: string, execArgv: readonly string[]): void {
  for (const flag of chooseEngineFlags(nodeVersion, execArgv)) setFlagsFromString(flag);
}
