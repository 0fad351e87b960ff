import { invalidArgument } from '../rpc-error.js';
import { isDigest } from './archive/digest.js';

/** A reference to an image, normalised: with a registry and with a tag or a digest, never both. */
export interface ImageReference {
  /** Registry and repository: `docker.io/library/nginx`. */
  readonly name: string;
  readonly tag?: string;
  readonly digest?: string;
}

/** Longer ones are refused before they are parsed. */
const MAX_REFERENCE = 1_000;
const MAX_REPOSITORY = 255;
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const REGISTRY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`);
const PATH_PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DEFAULT_REGISTRY = 'docker.io';

/**
 * Reads a reference as people and kubelets write it, and normalises it as containerd does: `docker.io`, `library/`
 * and `:latest` are filled in, and a tag beside a digest is dropped. Throws INVALID_ARGUMENT.
 */
export function parseReference(text: string): ImageReference {
  const refuse = (why: string) =>
    invalidArgument(`failed to parse image reference "${text.slice(0, 300)}": ${why}`);
  if (text === '' || text.length > MAX_REFERENCE) throw refuse('its length is invalid');
  const [named = '', digest, ...more] = text.split('@');
  if (more.length > 0) throw refuse('it has more than one "@"');
  if (digest !== undefined && !isDigest(digest)) throw refuse(`"${digest}" is no digest that is known here`);
  if (/^[a-f0-9]{64}$/.test(named)) throw refuse('64 hexadecimal digits are an id and no name');

  const { registry, rest } = splitRegistry(named);
  const colon = rest.indexOf(':');
  const repository = colon < 0 ? rest : rest.slice(0, colon);
  const tag = colon < 0 ? undefined : rest.slice(colon + 1);
  if (!REGISTRY.test(registry)) throw refuse(`"${registry}" is no name of a registry`);
  if (repository.length > MAX_REPOSITORY)
    throw refuse(`the repository is longer than ${MAX_REPOSITORY} characters`);
  if (repository !== repository.toLowerCase()) throw refuse('the repository must be lowercase');
  if (!repository.split('/').every((part) => PATH_PART.test(part)))
    throw refuse(`"${repository}" is no repository`);
  if (tag !== undefined && !TAG.test(tag)) throw refuse(`"${tag}" is no tag`);

  const official = registry === DEFAULT_REGISTRY && !repository.includes('/');
  const name = `${registry}/${official ? 'library/' : ''}${repository}`;
  return digest === undefined ? { name, tag: tag ?? 'latest' } : { name, digest };
}

/** As {@link parseReference}, or undefined where it would throw. */
export function tryParseReference(text: string): ImageReference | undefined {
  try {
    return parseReference(text);
  } catch {
    return undefined;
  }
}

/** As it stands in RepoTags or RepoDigests. */
export function toReferenceText({ name, tag, digest }: ImageReference): string {
  return digest === undefined ? `${name}:${tag ?? 'latest'}` : `${name}@${digest}`;
}

/** The part before the first slash is a registry if it looks like a host, not like a user: `a.b/c`, `a:1/c`, `A/c`. */
function splitRegistry(named: string): { registry: string; rest: string } {
  const slash = named.indexOf('/');
  const first = named.slice(0, Math.max(slash, 0));
  const isHost = slash >= 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  if (!isHost) return { registry: DEFAULT_REGISTRY, rest: named };
  // The registry's old name.
  const registry = first === 'index.docker.io' ? DEFAULT_REGISTRY : first;
  return { registry, rest: named.slice(slash + 1) };
}

/** A tag and the digest it means, or the digest alone; for a bare digest the names of its entry with the digest. */
export function referencesFor(
  found: { readonly names: readonly string[]; readonly target: { readonly digest: string } },
  name: string | undefined,
  tag: string | undefined,
): string[] {
  const {
    names,
    target: { digest },
  } = found;
  if (name !== undefined) return [...(tag === undefined ? [] : [`${name}:${tag}`]), `${name}@${digest}`];
  return names.map((each) => `${parseReference(each).name}@${digest}`);
}

/**
 * What is left of an image's names when it is removed by one of them: a repository's digests go with its last tag, as docker
 * has it. Nothing is left where `removed` is none of them, but an id.
 */
export function withoutReference(references: readonly string[], removed: string): readonly string[] {
  const parsed = tryParseReference(removed);
  const name = parsed && toReferenceText(parsed);
  if (parsed === undefined || name === undefined || !references.includes(name)) return [];
  const left = references.filter((each) => each !== name);
  const hasTag = left.some((each) => each.startsWith(`${parsed.name}:`));
  return parsed.digest !== undefined || hasTag
    ? left
    : left.filter((each) => !each.startsWith(`${parsed.name}@`));
}
