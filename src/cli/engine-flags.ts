import { setFlagsFromString } from 'node:v8';
import { type Worker } from 'node:worker_threads';

/** A setting of V8, and the releases of Node (their first number) that are known to have it. */
interface EngineFlag {
  readonly name: string;
  /** True for a flag that is on; undefined for V8's own default. */
  readonly value?: number | true;
  /** Of `podloop observe`, which lives beside a kubelet and has to be small. */
  readonly observing?: number | true;
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
  // By how much the rest of the heap may grow until it is collected, in percent. By itself V8 lets a busy observer grow to three
  // times what it needs.
  { name: 'heap-growing-percent', observing: 20, releases: [20, 22, 24] },
  // Moves objects together much sooner: what of the flight recorder lives for minutes would leave holes everywhere.
  { name: 'optimize-for-size', observing: true, releases: [20, 22, 24] },
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
    execArgv.some((argument) => {
      const [given] = argument.replaceAll('_', '-').split('=');
      return given === `--${name}` || given === `--no-${name}`;
    });
  return FLAGS.filter(({ name, releases }) => releases.includes(release) && !isGiven(name)).flatMap(
    ({ name, value, observing = value }) => {
      const chosen = command === 'observe' ? observing : value;
      if (chosen === undefined) return [];
      return [chosen === true ? `--${name}` : `--${name}=${chosen}`];
    },
  );
}

/** Emits an event for each thread that is started, as `process` does. */
interface ThreadSource {
  on(event: 'worker', listener: (thread: Pick<Worker, 'once'>) => void): unknown;
}

/**
 * Sets them for this process; see {@link chooseEngineFlags}.
 *
 * Flags are of all threads, and V8 corrects them whenever it makes the heap of another thread: a growth factor of less than 2
 * becomes 2, for every heap. It does so some time before that thread is online, so until then they are set again and again.
 */
export function setEngineFlags(
  flags: readonly string[],
  threads: ThreadSource,
  setFlag: (flag: string) => void = setFlagsFromString,
): void {
  const setAll = (): void => {
    for (const flag of flags) setFlag(flag);
  };
  setAll();
  threads.on('worker', (thread) => {
    const timer = setInterval(setAll, 1);
    const settle = (): void => {
      clearInterval(timer);
      setAll();
    };
    thread.once('online', settle);
    // One that is ended early never is online.
    thread.once('exit', settle);
  });
}
