import { type ManifestProblem } from '../../src/node/desired/manifests/manifest-problem.js';
import { type ServerProblem } from './api-server-program.js';

/** What is compared of an error of podloop. */
export type OwnProblem = Pick<ManifestProblem, 'kind' | 'path' | 'message'>;

/** How the places of the errors of both compare. */
export type PlaceVerdict =
  /** One place of podloop's is among those of Kubernetes. */
  | 'same'
  /** Kubernetes names none. */
  | 'none there'
  /** They differ for the known reason with this name. */
  | { readonly reason: string }
  | { readonly other: string };

/** A class of errors whose place is another one than with Kubernetes, and why. */
export interface PlaceDifference {
  readonly name: string;
  readonly reason: string;
  readonly isIt: (ours: OwnProblem, theirs: string) => boolean;
}

/** All of them. */
export const PLACE_DIFFERENCES: readonly PlaceDifference[] = [
  {
    name: 'item left out',
    reason: 'Kubernetes leaves out which item of a list it means, or the list itself',
    isIt: ({ path }, theirs) => {
      const bare = withoutIndexes(path);
      return [bare, bare.replace('.items.', '.')].includes(withoutIndexes(theirs));
    },
  },
  {
    name: 'the part',
    reason: 'Kubernetes names the object or list, podloop the entry in it that is wrong or missing',
    isIt: ({ path }, theirs) => {
      const bare = withoutIndexes(path);
      return [bare, bare.replace('.items.', '.')].some((one) => isInside(one, withoutIndexes(theirs)));
    },
  },
  {
    name: 'the whole',
    reason:
      'podloop names what it does not support, or what is of another type, as a whole, Kubernetes something in it',
    isIt: ({ path, kind }, theirs) =>
      (kind === 'refused' || kind === 'type' || kind === 'required') && isInside(theirs, path),
  },
  {
    name: 'one of two',
    reason:
      'where only one of several fields may be set, podloop names another one, or the one that is superfluous',
    isIt: ({ path, message }, theirs) =>
      message.includes('only one may be set') &&
      isInside(withoutIndexes(theirs), withoutIndexes(parentOf(path))),
  },
  {
    name: 'what does not fit',
    reason:
      'podloop refuses a limit, a grace period or an operating system, Kubernetes what does not go together with it',
    isIt: ({ path }) =>
      /\.limits\[[^\]]+\]$|^spec\.terminationGracePeriodSeconds$|^spec\.os\.name$/.test(path),
  },
  {
    name: 'not YAML',
    reason: 'podloop refuses the text, so that there are no fields',
    isIt: ({ kind }) => kind === 'syntax',
  },
  {
    name: 'another name',
    reason:
      'Kubernetes names a neighbour: fieldPath for its apiVersion, the operator of a toleration for its value, podAffinity[].namespace for namespaces, serviceAccountName for serviceAccount, and some names that no field has, such as downwarAPI and persistentDisk',
    isIt: ({ path }, theirs) => NEIGHBOURS.some(([ours, other]) => ours.test(path) && other.test(theirs)),
  },
];

const NEIGHBOURS: readonly (readonly [RegExp, RegExp])[] = [
  [/\.fieldRef\.apiVersion$/, /\.fieldRef\.fieldPath$/],
  [/^spec\.tolerations\[\d+\]\.value$/, /^spec\.tolerations\[\d+\]\.operator$/],
  [/\.namespaces(?:\[\d+\])?$/, /\.namespace$/],
  [/^spec\.serviceAccount$/, /^spec\.serviceAccountName$/],
  [/\.downwardAPI\b/, /\.downwarAPI$/],
  [/^spec\.overhead/, /^spec\.overhead\.limits/],
  [/\.cephfs$/, /\.cephFS$/],
  [/\.gcePersistentDisk$/, /\.persistentDisk\b/],
  [/^metadata\.annotations\[/, /^metadata\.annotations\.seccomp/],
  [/^spec\.topologySpreadConstraints\[\d+\]\.topologyKey$/, /^spec\.topologySpreadConstraints\[\d+\]\.\{/],
];

/** Holds the places of the errors of a pod that both refuse against one another. */
export function comparePaths(ours: readonly OwnProblem[], theirs: readonly ServerProblem[]): PlaceVerdict {
  const places = theirs.flatMap((problem) => placeOf(problem) ?? []);
  if (places.length === 0) return 'none there';
  if (ours.some(({ path }) => places.some((place) => isSame(path, place)))) return 'same';
  const known = PLACE_DIFFERENCES.find(({ isIt }) =>
    ours.some((problem) => places.some(({ path }) => isIt(problem, path))),
  );
  if (known !== undefined) return { reason: known.name };
  return {
    other: `${ours.map(({ path }) => path).join(', ')}, not ${places.map(({ path }) => path).join(', ')}`,
  };
}

interface ServerPlace {
  readonly path: string;
  /** The decoder of Go does not count items. */
  readonly hasIndexes: boolean;
}

function placeOf({ field, detail }: ServerProblem): ServerPlace | undefined {
  if (field !== '') return { path: field, hasIndexes: true };
  const unknown = /^(?:unknown|duplicate) field "([^"]+)"/.exec(detail)?.[1];
  if (unknown !== undefined) return { path: unknown, hasIndexes: true };
  const decoded = /Go struct field \w+\.(\S+) of type/.exec(detail)?.[1];
  if (decoded === undefined) return undefined;
  // Structs that are embedded are no fields.
  const fields = decoded.split('.').filter((name) => !/^[A-Z]/.test(name));
  return { path: fields.join('.'), hasIndexes: false };
}

function isSame(path: string, place: ServerPlace): boolean {
  return path === place.path || (!place.hasIndexes && withoutIndexes(path) === place.path);
}

function withoutIndexes(path: string): string {
  return path.replaceAll(/\[\d+\]/g, '');
}

function parentOf(path: string): string {
  return path.replace(/\.[^.]*$/, '');
}

function isInside(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}
