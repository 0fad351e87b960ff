/**
 * What pods have written down of their lives on a node that is shut down, and what of it is wrong.
 *
 * Each line has the beginning of the boot's id, the pod and what it does: `3f2a11cc web-0 term`. They are in the order in which they
 * were written, and synced.
 *
 * @module
 */

/** Ordinary pods, and the one that ends last. */
export const ORDINARY = ['web-0', 'web-1', 'web-2'] as const;
export const CRITICAL = 'critical';
/** In the machine. */
export const MARKS_FILE = '/var/lib/marks/log';

/** One line. */
export interface Mark {
  readonly boot: string;
  readonly pod: string;
  readonly word: 'start' | 'term' | 'end';
}

/** Those of one boot; a line that a cut has broken off is left out. */
export function parseMarks(text: string, boot: string): Mark[] {
  return text.split('\n').flatMap((line) => {
    const found = /^(\S+) (\S+) (start|term|end)$/.exec(line);
    return found?.[1] === boot ? [{ boot, pod: found[2]!, word: found[3] as Mark['word'] }] : [];
  });
}

/** The pods that have started in a boot. Pure. */
export function startedPods(marks: readonly Mark[]): Set<string> {
  return new Set(marks.flatMap(({ pod, word }) => (word === 'start' ? [pod] : [])));
}

/** What is wrong with the marks of a boot that ended by a shutdown, or that was cut off in the middle of one. Pure. */
export function findShutdownFaults(marks: readonly Mark[], how: 'whole' | 'cut'): string[] {
  const at = (pod: string, word: Mark['word']): number[] =>
    marks.flatMap((mark, index) => (mark.pod === pod && mark.word === word ? [index] : []));
  const pods = [...ORDINARY, CRITICAL];
  const faults: string[] = [];
  for (const pod of pods) {
    const [starts, terms, ends] = (['start', 'term', 'end'] as const).map((word) => at(pod, word).length) as [
      ...[number, number, number],
    ];
    if (starts !== 1) faults.push(`${pod} has started ${starts} times`);
    if (terms > 1 || (how === 'whole' && terms === 0)) faults.push(`${pod} was asked to end ${terms} times`);
    if (how === 'whole' && ends !== terms) faults.push(`${pod} did not get the time to end`);
  }
  const firstTerm = marks.findIndex(({ word }) => word === 'term');
  if (firstTerm < 0) faults.push('nobody was asked to end');
  else
    for (const { pod } of marks.slice(firstTerm).filter(({ word }) => word === 'start'))
      faults.push(`${pod} has started during the shutdown`);
  const [ofCritical = Infinity] = at(CRITICAL, 'term');
  for (const pod of ORDINARY) {
    const [end = Infinity] = at(pod, 'end');
    if (ofCritical < end && ofCritical !== Infinity)
      faults.push(`${pod} had not ended before ${CRITICAL} was asked to`);
  }
  return faults;
}
