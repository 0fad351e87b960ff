import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { Progress } from '../progress.js';
import { type Contender } from './contenders.js';
import { type PlannedTurn, runTurns } from './run-turns.js';

const PLAN: readonly PlannedTurn[] = [
  { stage: 'singles', turn: 0 },
  { stage: 'singles', turn: 1 },
  { stage: 'mass', turn: 0 },
];
const contender = (name: string): Contender => ({
  name,
  prepare: () => Promise.reject(new Error('nobody is started')),
});
const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() }) as unknown as NodeJS.WriteStream;

/** Runs the plan with three contenders; what is found in a part is its name. */
async function run({
  kept = new Map<string, unknown>(),
  stop = new AbortController(),
  stopAt = '',
}: {
  kept?: Map<string, unknown>;
  stop?: AbortController;
  stopAt?: string;
} = {}) {
  const ran: string[] = [];
  const found = runTurns<PlannedTurn, string>({
    ...{ name: 'bench', plan: PLAN, contenders: ['a', 'b', 'c'].map(contender) },
    parts: {
      find: (name) => kept.get(name),
      keep: (name, part) => {
        kept.set(name, part);
        return Promise.resolve();
      },
    },
    ...{ progress: new Progress(nowhere), signal: stop.signal },
    run: ({ name }, { stage, turn }) => {
      const part = `${stage}-${turn}-${name}`;
      ran.push(part);
      if (part === stopAt) stop.abort(new Error('enough'));
      return Promise.resolve(part);
    },
  });
  return { ran, kept, found: await found.catch((error: unknown) => error) };
}

it('lets another contender begin each turn, and gives each its turns in the order of the plan', async () => {
  const { ran, found } = await run();
  expect(ran).toEqual([
    ...['singles-0-a', 'singles-0-b', 'singles-0-c'],
    ...['singles-1-b', 'singles-1-c', 'singles-1-a'],
    ...['mass-0-a', 'mass-0-b', 'mass-0-c'],
  ]);
  expect(found).toEqual(
    ['a', 'b', 'c'].map((name) => ({
      name,
      rounds: [`singles-0-${name}`, `singles-1-${name}`, `mass-0-${name}`],
    })),
  );
});

it('keeps each part, and passes over those that were found before', async () => {
  const first = await run({ stopAt: 'singles-1-c' });
  expect(first.found).toEqual(new Error('enough'));
  expect([...first.kept.keys()].slice(-2)).toEqual(['singles 2, b', 'singles 2, c']);
  const second = await run({ kept: first.kept });
  expect(second.ran).toEqual(['singles-1-a', 'mass-0-a', 'mass-0-b', 'mass-0-c']);
  expect(second.found).toEqual((await run()).found);
});
