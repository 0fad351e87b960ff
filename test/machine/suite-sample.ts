import { sampleSpecs } from '../e2e/spec-choice.js';
import { type ImageName } from './image-recipe.js';
import { type PlannedSuite, type Suite } from './suites.js';

/** How long a sample may take, the making of the image left out. */
export const SAMPLE_MINUTES = 10;
/** Some of them may not be started any more. */
const SUITES = 3;
/** Proves that the machine is what the others take it for. */
const FIRST = 'facts';

/** On one image, the facts about the node and then a few suites by chance; the same ones for the same seed. */
export function sampleSuites(
  suites: readonly Suite[],
  images: readonly ImageName[],
  seed: number,
): PlannedSuite[] {
  const image = images[Math.abs(seed) % images.length]!;
  const first = suites.filter(({ name }) => name === FIRST);
  const others = suites.filter(({ name, long, ownMachine }) => name !== FIRST && !long && !ownMachine);
  return [...first, ...sampleSpecs(others, SUITES, seed)].map((suite) => ({ image, suite }));
}
