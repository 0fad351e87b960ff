import { parseReference } from './image-reference.js';
import { type ResolvedImage } from './image-resolver.js';

/** A tag and the digest it means, or the digest alone; for a bare digest the names of its entry with the digest. */
export function referencesFor(
  found: ResolvedImage,
  name: string | undefined,
  tag: string | undefined,
): string[] {
  const { names, target } = found;
  if (name !== undefined) return [...(tag === undefined ? [] : [`${name}:${tag}`]), `${name}@${target}`];
  return names.map((each) => `${parseReference(each).name}@${target}`);
}
