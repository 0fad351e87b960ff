import { failure } from '../../command-failure.js';
import {
  findResourceType,
  findResourceTypes,
  isResourceType,
  isTypeGroup,
  PODS,
  type ResourceType,
  unknownType,
} from './resource-type.js';

/** A single object of a selection. */
export interface NamedObject {
  readonly type: ResourceType;
  readonly name: string;
}

/** What the words behind a command name: kinds of objects as a whole, or single objects. */
export interface ObjectSelection {
  readonly types: readonly ResourceType[];
  /** Single objects, in the order in which they were named; empty when the types are meant as a whole. */
  readonly names: readonly NamedObject[];
  /** Whether `all` was asked for: objects are shown with their kinds then. */
  readonly isGroup?: boolean;
}

/** What restricts a selection beside its words. */
export interface SelectionLimits {
  /** A label or field selector. */
  readonly hasSelector: boolean;
  readonly allNamespaces: boolean;
  /** `--all`, for commands that have it. */
  readonly all?: boolean;
}

/**
 * Reads `pods`, `pods,cm`, `pod web db`, `pod/web cm/conf` as kubectl reads them. Throws a CommandFailure with its words.
 *
 * @param command the name of the command, for what is said of a wrong one.
 */
export function readSelection(
  words: readonly string[],
  limits: SelectionLimits,
  command: string,
): ObjectSelection {
  if (words.some((word) => word.includes('/'))) return checkNames(readPairs(words, command), limits);
  const [first = '', ...names] = words;
  if (names.length === 0 && !first.includes(',') && first !== '' && !isResourceType(first)) {
    throw unknownType(first, `For a pod of that name: podloop ${command} pod ${first}`);
  }
  const types = first
    .split(',')
    .filter((word) => word !== '')
    .flatMap((word) => findResourceTypes(word));
  const all = types.flatMap((type) => names.map((name) => ({ type, name })));
  const isGroup = first.split(',').some(isTypeGroup);
  return checkNames({ types: [...new Set(types)], names: all, isGroup }, limits);
}

function readPairs(words: readonly string[], command: string): ObjectSelection {
  const names = words.map((word) => {
    const [type = '', name = '', ...rest] = word.split('/');
    if (!word.includes('/')) {
      throw failure(
        `there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'podloop ${command} resource/<resource_name>' instead of 'podloop ${command} resource resource/<resource_name>'`,
      );
    }
    if (rest.length > 0) throw failure('arguments in resource/name form may not have more than one slash');
    if (type === '' || name === '') {
      throw failure('arguments in resource/name form must have a single resource and name');
    }
    if (isTypeGroup(type)) throw failure(`${type} is no type of a single object: ${word}`);
    if (!isResourceType(type))
      throw unknownType(type, `If ${type} is a namespace: -n ${type}, and ${name} alone`);
    return { type: findResourceType(type), name };
  });
  return { types: [...new Set(names.map(({ type }) => type))], names };
}

function checkNames(
  selection: ObjectSelection,
  { hasSelector, allNamespaces, all }: SelectionLimits,
): ObjectSelection {
  if (selection.names.length === 0) return selection;
  if (hasSelector) throw failure('name cannot be provided when a selector is specified');
  if (all === true) throw failure('name cannot be provided when --all is specified');
  if (allNamespaces) throw failure('a resource cannot be retrieved by name across all namespaces');
  return selection;
}

/** The object that `web`, `pod/web` or `deploy/web` names: a pod, if it names no kind. Throws a CommandFailure. */
export function readName(word: string): NamedObject {
  return word.includes('/') ? readPairs([word], 'get').names[0]! : { type: PODS, name: word };
}

/** The pod that `web`, `pod/web` or `pods/web` names. Throws a CommandFailure with `complaint` for another kind. */
export function readPodName(word: string, complaint: string): string {
  const { type, name } = readName(word);
  if (type !== PODS) throw failure(complaint);
  return name;
}

/** Throws a CommandFailure when a selection has Secrets, which no agent shows. */
export function refuseSecrets({ types, names }: ObjectSelection): void {
  if ([...types, ...names.map(({ type }) => type)].some(({ kind }) => kind === 'Secret'))
    throw failure(
      'Secrets are never shown, not even to whoever has written them; "podloop apply -f FILE" changes one',
    );
}
