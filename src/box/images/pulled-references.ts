import { parseReference, toReferenceText, tryParseReference } from './image-reference.js';
import { type ResolvedImage } from './image-resolver.js';

/** A tag and the digest it means, or the digest alone; for a bare digest the names of its entry with the digest. */
export function referencesFor(
  found: ResolvedImage,
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
