import { type Progress } from '../progress.js';

/** A phase that came to nothing. */
export interface PhaseFailure {
  readonly phase: string;
  readonly why: string;
}

/** Runs the phases of a stage one after the other: one that fails is written down, and costs the others nothing. */
export class PhaseRunner {
  readonly signal: AbortSignal;
  readonly #progress: Progress;
  readonly #failures: PhaseFailure[] = [];

  constructor(progress: Progress, signal: AbortSignal) {
    this.#progress = progress;
    this.signal = signal;
  }

  get failures(): readonly PhaseFailure[] {
    return this.#failures;
  }

  /** What it found, under its name; nothing when it failed. Rejects only when all of it is to end. */
  async run<Name extends string, Found>(
    name: Name,
    measure: () => Promise<Found>,
  ): Promise<{ readonly [name in Name]?: Found }> {
    const beganMs = performance.now();
    const took = (): string => `${((performance.now() - beganMs) / 1_000).toFixed(0)} s`;
    try {
      const found = await measure();
      this.#progress.begin(`  ${name}: ${took()}`);
      return { [name]: found } as { [name in Name]?: Found };
    } catch (error) {
      this.signal.throwIfAborted();
      const why = describe(error);
      this.#progress.begin(`  ${name}: failed after ${took()}: ${why}`);
      this.#failures.push({ phase: name, why });
      return {};
    }
  }
}

/** What went wrong first, and what did when it was cleared up after that. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // As `await using` throws it.
  const { error: last, suppressed: first } = error as Error & { error?: unknown; suppressed?: unknown };
  return first === undefined ? error.message : `${describe(first)}; and then: ${describe(last)}`;
}
