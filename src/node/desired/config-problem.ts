import {
  formatManifestProblem,
  type ManifestProblem,
  type ManifestProblemKind,
} from './manifests/manifest-problem.js';

/**
 * The kind of a problem: that of a manifest, `unreadable`, `not-kept` or `conflict`.
 *
 * - `unreadable`: a folder, file or URL gave nothing to parse
 * - `not-kept`: the last good version could not be written or read
 * - `conflict`: another source has the pod
 */
export type ConfigProblemKind = ManifestProblemKind | 'unreadable' | 'not-kept' | 'conflict';

/** A problem with the input of a source: logged once, and in the status as long as it lasts. */
export interface ConfigProblem extends Omit<ManifestProblem, 'kind'> {
  /** `file`, `http`, `stdin`, `api`. */
  readonly source: string;
  readonly kind: ConfigProblemKind;
  /**
   * Full names of the pods that keep their last good version because of this problem or others of the file.
   */
  readonly kept: readonly string[];
}

/** A problem of a whole file, folder or URL. */
export function aboutWhole(
  source: string,
  file: string,
  kind: ConfigProblemKind,
  message: string,
  kept: readonly string[] = [],
): ConfigProblem {
  return {
    ...{ source, file, line: 1, column: 1, kind, path: '', message, pod: '', namespace: '', kept },
  };
}

const MAX_NAMES = 5;

/** `web.yaml:9:7: spec.containers[0].comand: unknown field, did you mean command?; default/web goes on as before`; a pod that was stopped stays so. */
export function formatConfigProblem(
  problem: ConfigProblem,
  isStopped: (fullName: string) => boolean = () => false,
): string {
  const { file, message, kept, kind } = problem;
  const isOfWhole = kind === 'unreadable' || kind === 'not-kept';
  const text = isOfWhole
    ? `${file}: ${message}`
    : formatManifestProblem({ ...problem, kind: 'syntax' }).replace(/^(<\w+>):1:1: /, '$1: ');
  const stopped = kept.filter(isStopped);
  const going = kept.filter((name) => !stopped.includes(name));
  return [
    text,
    ...(going.length === 0 ? [] : [`${nameThem(going)} ${going.length === 1 ? 'goes' : 'go'} on as before`]),
    ...(stopped.length === 0
      ? []
      : [`${nameThem(stopped)} ${stopped.length === 1 ? 'stays' : 'stay'} stopped`]),
  ].join('; ');
}

function nameThem(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
