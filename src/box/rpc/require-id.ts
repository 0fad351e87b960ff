import { type ImageSpec } from '#watch/messages';
import { refused } from '../rpc-error.js';

/** Passes an id on; an empty one is refused as other runtimes refuse it. Ids may not be abbreviated. */
export function requireId(kind: 'sandbox' | 'container', id: string): string {
  if (id === '') throw refused(`an error occurred when try to find ${kind}: the id is empty`);
  return id;
}

/** The image that a request names; none at all is refused as other runtimes refuse it. */
export function requireImage(image: ImageSpec | undefined): string {
  if (image === undefined || image.image === '') throw refused('cannot resolve an image: its name is empty');
  return image.image;
}
