const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const HOST_PART = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const DOMAIN = `(?:${HOST_PART}(?:\\.${HOST_PART})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?`;
const NAME = `(?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*`;
const TAG = '[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}';
const DIGEST = '[a-zA-Z][a-zA-Z0-9]*(?:[-_+.][a-zA-Z][a-zA-Z0-9]*)*:[0-9a-fA-F]{32,}';
const REFERENCE = new RegExp(`^(${NAME})(?::(${TAG}))?(?:@(${DIGEST}))?$`);
/** Would be taken for an image's id. */
const IDENTIFIER = /^[a-f0-9]{64}$/;
const MAX_NAME_LENGTH = 255;

/**
 * The name of an image with `:latest` if it has neither tag nor digest; undefined for an invalid name. Pure.
 *
 * Source: https://kubernetes.io/docs/concepts/containers/images/#image-names
 */
export function withDefaultTag(image: string): string | undefined {
  const match = REFERENCE.exec(image);
  if (match === null) return undefined;
  const [, name = '', tag, digest] = match;
  if (name.length > MAX_NAME_LENGTH || IDENTIFIER.test(image)) return undefined;
  return tag === undefined && digest === undefined ? `${image}:latest` : image;
}

/**
 * Registry and repository of an image, without tag and digest; undefined for an invalid name. Pure.
 *
 * It adds what is left out for images of Docker Hub: `docker.io/library/busybox` for `busybox:1`.
 */
export function repositoryOf(image: string): string | undefined {
  const [, name] = REFERENCE.exec(image) ?? [];
  if (name === undefined) return undefined;
  const [first = '', ...rest] = name.split('/');
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  if (!isRegistry) return `docker.io/${rest.length === 0 ? 'library/' : ''}${name}`;
  return first === 'index.docker.io' ? `docker.io/${rest.join('/')}` : name;
}

/**
 * The runtime's name for an image: with its registry, and its digest or else its tag; undefined for an
 * invalid name. Pure.
 */
export function fullNameOf(image: string): string | undefined {
  const [, , tag = 'latest', digest] = REFERENCE.exec(image) ?? [];
  const repository = repositoryOf(image);
  if (repository === undefined) return undefined;
  return digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`;
}

/** Whether it is a valid image name without tag and digest. Pure. */
export function isBareName(image: string): boolean {
  const [, name] = REFERENCE.exec(image) ?? [];
  return name === image;
}
