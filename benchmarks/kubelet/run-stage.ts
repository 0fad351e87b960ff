import { type FoundParts } from '../scenario.js';
import { type Progress } from '../progress.js';
import { type Contender, createContenders } from './contenders.js';
import { type ContenderFigures, runTurns } from './run-turns.js';

/** What every benchmark beside the kubelet takes. */
export interface StageOptions {
  readonly kubelet: string;
  readonly turns: number;
  readonly parts: FoundParts;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Which benchmark, and what each of its turns is called. */
export interface StageName {
  readonly name: string;
  readonly stage: string;
}

/** Runs podloop and both of the kubelet's generators in each turn; who begins changes from turn to turn. */
export async function runStage<Found>(
  { name, stage }: StageName,
  { kubelet, turns, parts, progress, signal }: StageOptions,
  run: (contender: Contender, turn: number) => Promise<Found>,
): Promise<ContenderFigures<Found>[]> {
  const plan = Array.from({ length: turns }, (_, turn) => ({ stage, turn }));
  return await runTurns<(typeof plan)[number], Found>({
    ...{ name, plan, contenders: createContenders(kubelet), parts, progress, signal },
    run: (contender, { turn }) => run(contender, turn),
  });
}
