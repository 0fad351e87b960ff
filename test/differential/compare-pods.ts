import { readManifests } from '../../src/node/desired/manifests/manifest-reader.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { type ServerAnswer } from './api-server-program.js';
import { findDifference } from './deliberate-differences.js';
import { compareDefaults } from './compare-defaults.js';
import { comparePaths, type PlaceVerdict } from './compare-paths.js';

/** What podloop and Kubernetes make of the same text. */
export type Comparison =
  /** Both take it, and fill in the same, or both refuse it. */
  | { readonly kind: 'same'; readonly isValid: boolean; readonly place?: PlaceVerdict }
  /** Kubernetes takes it and podloop does not, for the reason with this name. */
  | { readonly kind: 'deliberate'; readonly reason: string }
  | {
      readonly kind: 'fault';
      readonly what: 'laxer' | 'stricter' | 'other defaults' | 'other place';
      readonly why: string;
    };

/** Holds what podloop makes of a manifest of one pod against the answer of Kubernetes. */
export function comparePod(text: string, answer: ServerAnswer): Comparison {
  const { pods, problems } = readManifests(text, { file: 'pod.yaml' });
  const said = problems.map(({ path, message }) => `${path}: ${message}`);
  if (answer.problems.length > 0) {
    if (problems.length > 0) {
      const place = comparePaths(problems, answer.problems);
      return typeof place === 'object' && 'other' in place
        ? { kind: 'fault', what: 'other place', why: place.other }
        : { kind: 'same', isValid: false, place };
    }
    if (pods.length === 0) return { kind: 'same', isValid: false };
    const first = answer.problems[0]!;
    return { kind: 'fault', what: 'laxer', why: `${first.field}: ${first.type}: ${first.detail}` };
  }
  if (problems.length > 0) {
    const reasons = problems.map((problem) => findDifference(problem));
    const unknown = reasons.indexOf(undefined);
    if (unknown >= 0) return { kind: 'fault', what: 'stricter', why: said[unknown]! };
    return { kind: 'deliberate', reason: reasons[0]!.name };
  }
  const [only] = pods;
  if (only === undefined) return { kind: 'fault', what: 'stricter', why: 'there is no pod in it' };
  const differences = compareDefaults(applyPodDefaults(only.pod), answer.pod!);
  return differences.length === 0
    ? { kind: 'same', isValid: true }
    : { kind: 'fault', what: 'other defaults', why: differences.join('; ') };
}
