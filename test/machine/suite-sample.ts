import { sampleSpecs } from '../e2e/spec-choice.js';
import { type ImageName } from './image-recipe.js';
import { type MachineResult } from './machine-result.js';
import { type PlannedSuite, type Suite } from './suites.js';

/** How long a sample may take, the making of the image left out. */
export const SAMPLE_MINUTES = 10;
/** Some of them may not be started any more. */
const SUITES = 3;
/** Proves that the machine is what the others take it for. */
const FIRST = 'facts';

/**
 * On one image, the facts about the node and then a few suites by chance; the same ones for the same seed. A sample finds what
 * has stopped working: only suites that have passed as a whole on that image before, by the kept results, are in it.
 */
export function sampleSuites(
  suites: readonly Suite[],
  images: readonly ImageName[],
  seed: number,
  results: readonly MachineResult[],
): PlannedSuite[] {
  const hasPassed = (image: ImageName, { name }: Suite): boolean => {
    const own = results.filter((result) => result.image === image && result.suite === name);
    return own.length > 0 && own.every(({ verdict }) => verdict === 'passed');
  };
  const first = suites.filter(({ name }) => name === FIRST);
  const proven = images.filter((image) => first.every((suite) => hasPassed(image, suite)));
  if (proven.length === 0) return [];
  const image = proven[Math.abs(seed) % proven.length]!;
  const others = suites.filter(
    (suite) => suite.name !== FIRST && !suite.long && !suite.ownMachine && hasPassed(image, suite),
  );
  return [...first, ...sampleSpecs(others, SUITES, seed)].map((suite) => ({ image, suite }));
}
