import { type FoundParts } from '../scenario.js';
import { type Progress } from '../progress.js';
import { type Contender } from './contenders.js';

/** One stage in one turn: each contender has its go. */
export interface PlannedTurn {
  readonly stage: string;
  readonly turn: number;
}

/** What was found of one contender, turn by turn. */
export interface ContenderFigures<Found> {
  readonly name: string;
  readonly rounds: readonly Found[];
}

/** What {@link runTurns} takes. */
export interface TurnsOptions<Planned extends PlannedTurn, Found> {
  /** Of the benchmark, for its progress. */
  readonly name: string;
  readonly plan: readonly Planned[];
  readonly contenders: readonly Contender[];
  readonly parts: FoundParts;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly run: (contender: Contender, planned: Planned) => Promise<Found>;
}

/**
 * Runs each contender in each turn of a plan, and keeps what was found part by part; who begins changes from turn to turn.
 * Parts that were found before are passed over. Resolves with what was found of each contender, turn by turn.
 */
export async function runTurns<Planned extends PlannedTurn, Found>({
  name: benchmark,
  plan,
  contenders,
  parts,
  progress,
  signal,
  run,
}: TurnsOptions<Planned, Found>): Promise<ContenderFigures<Found>[]> {
  const found = new Map<string, Found[]>(contenders.map(({ name }) => [name, []]));
  const whole = plan.length * contenders.length;
  let at = 0;
  for (const planned of plan) {
    for (let place = 0; place < contenders.length; place++) {
      signal.throwIfAborted();
      const contender = contenders[(planned.turn + place) % contenders.length]!;
      const name = `${planned.stage} ${planned.turn + 1}, ${contender.name}`;
      const kept = parts.find(name) as Found | undefined;
      const already = kept === undefined ? '' : ' (found already)';
      progress.begin(`${benchmark}: part ${++at} of ${whole}: ${name}${already}`);
      const findings = kept ?? (await run(contender, planned));
      if (kept === undefined) await parts.keep(name, findings);
      found.get(contender.name)!.push(findings);
    }
  }
  return [...found].map(([name, rounds]) => ({ name, rounds }));
}
