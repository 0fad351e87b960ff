/** What one side of a comparison took, a value for each round. */
export interface SideSamples {
  /** Milliseconds by the clock, for one run. */
  readonly wallMs: number[];
  /** Milliseconds of this process's CPU time, all threads, for one run. */
  readonly cpuMs: number[];
}

/** Does once what is timed. */
export type Run = () => Promise<unknown>;

/** Of each side, in the order of the sides. */
export type SamplesOf<Sides extends readonly Run[]> = { readonly [Side in keyof Sides]: SideSamples };

export interface PairedRoundsOptions<Sides extends readonly Run[]> {
  /** So many rounds are taken at least. */
  readonly minRounds: number;
  /** Runs of each side in one round: more where one is too short to be timed alone. */
  readonly runsPerRound: number;
  /** Runs before those, which are not timed: what the side before has left to the collector falls to them; none unless told. */
  readonly leadInRuns?: number;
  /** Asked after `minRounds`, and again each time when as many more were taken: whether that is enough. */
  readonly isEnough: (samples: SamplesOf<Sides>) => boolean;
  readonly onRound?: (done: number) => void;
  /** Looked at before each round. */
  readonly signal: AbortSignal;
}

/**
 * Times several ways of doing something in alternating rounds, so that whatever else the machine does hits all of them.
 *
 * Who runs next finds what the side before has left behind. So the side that begins changes from round to round, and the way
 * round with it: in twice as many rounds as there are three sides, each has come after each other one equally often.
 */
export async function measurePairedRounds<const Sides extends readonly Run[]>(
  sides: Sides,
  { minRounds, runsPerRound, leadInRuns = 0, isEnough, onRound, signal }: PairedRoundsOptions<Sides>,
): Promise<SamplesOf<Sides>> {
  const all = sides.map(createSamples);
  const samples = all as SamplesOf<Sides>;
  for (let round = 0; round === 0 || round % minRounds !== 0 || !isEnough(samples); round++) {
    signal.throwIfAborted();
    const wayRound = round % 2 === 0 ? 1 : sides.length - 1;
    for (let turn = 0; turn < sides.length; turn++) {
      const side = (round + turn * wayRound) % sides.length;
      for (let run = 0; run < leadInRuns; run++) await sides[side]!();
      await measureOnce(sides[side]!, runsPerRound, all[side]!);
    }
    onRound?.(round + 1);
  }
  return samples;
}

/** Times one side alone, a run to a round. */
export async function measureSide(run: Run, rounds: number): Promise<SideSamples> {
  const samples = createSamples();
  for (let round = 0; round < rounds; round++) await measureOnce(run, 1, samples);
  return samples;
}

async function measureOnce(run: Run, runs: number, samples: SideSamples): Promise<void> {
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
