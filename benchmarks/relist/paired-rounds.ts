/** What one side of a comparison took, a value for each round. */
export interface SideSamples {
  /** Milliseconds by the clock, for one run. */
  readonly wallMs: number[];
  /** Milliseconds of this process's CPU time, all threads, for one run. */
  readonly cpuMs: number[];
}

export interface PairedRoundsOptions {
  /** So many rounds are taken at least. */
  readonly minRounds: number;
  /** Runs of each side in one round: more where one is too short to be timed alone. */
  readonly runsPerRound: number;
  /** Asked after `minRounds`, and again each time when as many more were taken: whether that is enough. */
  readonly isEnough: (samples: readonly [SideSamples, SideSamples]) => boolean;
  readonly onRound?: (done: number) => void;
}

/**
 * Times two ways of doing something in alternating rounds, so that whatever else the machine does hits both.
 *
 * The side that begins changes from round to round: who runs second finds the other's garbage.
 */
export async function measurePairedRounds(
  sides: readonly [() => Promise<unknown>, () => Promise<unknown>],
  { minRounds, runsPerRound, isEnough, onRound }: PairedRoundsOptions,
): Promise<readonly [SideSamples, SideSamples]> {
  const samples = [createSamples(), createSamples()] as const;
  for (let round = 0; round === 0 || round % minRounds !== 0 || !isEnough(samples); round++) {
    for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      await measureOnce(sides[side], runsPerRound, samples[side]);
    }
    onRound?.(round + 1);
  }
  return samples;
}

/** Times one side alone, a run to a round. */
export async function measureSide(run: () => Promise<unknown>, rounds: number): Promise<SideSamples> {
  const samples = createSamples();
  for (let round = 0; round < rounds; round++) await measureOnce(run, 1, samples);
  return samples;
}

async function measureOnce(run: () => Promise<unknown>, runs: number, samples: SideSamples): Promise<void> {
  const cpuBefore = process.cpuUsage();
  const before = performance.now();
  for (let i = 0; i < runs; i++) await run();
  const wallMs = performance.now() - before;
  const cpu = process.cpuUsage(cpuBefore);
  samples.wallMs.push(wallMs / runs);
  samples.cpuMs.push((cpu.user + cpu.system) / 1000 / runs);
}

function createSamples(): SideSamples {
  return { wallMs: [], cpuMs: [] };
}
