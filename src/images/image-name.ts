const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const HOST_PART = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const DOMAIN = `(?:${HOST_PART}(?:\\.${HOST_PART})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?`;
const NAME = `(?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*`;
const TAG = '[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}';
const DIGEST = '[a-zA-Z][a-zA-Z0-9]*(?:[-_+.][a-zA-Z][a-zA-Z0-9]*)*:[0-9a-fA-F]{32,}';
const REFERENCE = new RegExp(`^(${NAME})(?::(${TAG}))?(?:@(${DIGEST}))?$`);
/** Would be taken for the id of an image. */
const IDENTIFIER = /^[a-f0-9]{64}$/;
const LONGEST_NAME = 255;

/**
 * The name of an image with `:latest` where it has neither tag nor digest; undefined when it is no name of an image.
 * Pure.
 *
 * Source: https://kubernetes.io/docs/concepts/containers/images/#image-names
 */
export function withDefaultTag(image: string): string | undefined {
  const match = REFERENCE.exec(image);
  if (match === null) return undefined;
  const [, name = '', tag, digest] = match;
  if (name.length > LONGEST_NAME || IDENTIFIER.test(image)) return undefined;
  return tag === undefined && digest === undefined ? `${image}:latest` : image;
}
