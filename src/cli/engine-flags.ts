import { setFlagsFromString } from 'node:v8';

/** A setting of V8, and the releases of Node (their first number) that are known to have it. */
interface EngineFlag {
  readonly name: string;
  readonly value: number;
  /** Of `podloop observe`, which lives beside a kubelet and has to be small. */
  readonly observing?: number;
  readonly releases: readonly number[];
}

/**
 * Settings for a large program whose functions run rarely: most code of an agent runs some hundred times.
 * V8's defaults optimize hot code, which costs an agent more than it gains; `benchmarks/cluster` shows by how much.
 */
const FLAGS: readonly EngineFlag[] = [
  // Bytes of bytecode that a function runs before V8's optimizing compiler compiles it on other threads
  // (default: 66 KiB). Later releases have a compiler in between and need no change.
  { name: 'interrupt-budget', value: 1_000_000, releases: [20] },
  // The space for new objects starts at 1 MiB and at most doubles: a burst of pods ends before it has grown. An observer
  // has no burst to be quick in: where that space does not grow, it takes 30 MiB less.
  { name: 'semi-space-growth-factor', value: 16, observing: 1, releases: [20, 22, 24] },
];

/**
 * Chooses the V8 flags for a release of Node such as `20.20.2`, as V8 prints warnings for flags that it does not know.
 * A flag that Node was started with (`execArgv`) is left as it is.
 */
export function chooseEngineFlags(
  nodeVersion: string,
  execArgv: readonly string[],
  command: string | undefined,
): string[] {
  const release = Number.parseInt(nodeVersion, 10);
  const isGiven = (name: string): boolean =>
    execArgv.some((argument) => argument.replaceAll('_', '-').startsWith(`--${name}=`));
  return FLAGS.filter(({ name, releases }) => releases.includes(release) && !isGiven(name)).map(
    ({ name, value, observing = value }) => `--${name}=${command === 'observe' ? observing : value}`,
  );
}

/** Sets them for this process; see {@link chooseEngineFlags}. */
export function setEngineFlags(
  nodeVersion: string,
  execArgv: readonly string[],
  command: string | undefined,
): void {
  for (const flag of chooseEngineFlags(nodeVersion, execArgv, command)) setFlagsFromString(flag);
}
