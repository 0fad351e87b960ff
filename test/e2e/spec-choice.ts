import { type SpecResult } from '../critest/spec-report.js';

/** What the suite is asked for: specs that any node must pass, and that may run beside others. */
export const LABEL_FILTER = 'NodeConformance && !(Serial || Disruptive || Slow)';
/** Specs of volumes whose objects come later: they wait for a kubelet's minute several times. */
export const SKIPPED_SPECS = 'optional updates should be reflected in volume';

/** The name of a spec, without the suite's marks: what the page and focus patterns know it by. */
export function specName({ path }: Pick<SpecResult, 'path'>): string {
  return path.map(withoutMarks).join(' ');
}

/** `should run [NodeConformance]` without what stands in brackets behind it; a group's `[sig-node]` in front stays. */
export function withoutMarks(text: string): string {
  return text.replace(/(?: \[[^\]]+\])+$/, '');
}

/** A Go regular expression that these specs match and no others. */
export function focusPattern(specs: readonly Pick<SpecResult, 'path'>[]): string {
  const marks = '(?: \\[[^\\]]+\\])*';
  const patterns = specs.map(({ path }) =>
    path.map((text) => `${escapePattern(withoutMarks(text))}${marks}`).join(' '),
  );
  // The suite's own name stands in front.
  return `(?:^|^Kubernetes e2e suite )(?:${patterns.join('|')})$`;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** So many of them, by chance; the same ones for the same seed. */
export function sampleSpecs<T>(specs: readonly T[], count: number, seed: number): T[] {
  const random = randomNumbers(seed);
  const left = [...specs];
  const chosen: T[] = [];
  while (chosen.length < count && left.length > 0) {
    chosen.push(...left.splice(Math.floor(random() * left.length), 1));
  }
  return chosen;
}

/** mulberry32: numbers from 0 to 1, told by the seed. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
