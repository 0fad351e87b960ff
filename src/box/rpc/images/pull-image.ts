import { type AuthConfig, type PullImageRequest, type PullImageResponse } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { isPlaceOf, type Login, toLogin } from '../../registry/docker-logins.js';
import { invalidArgument } from '../../rpc-error.js';
import { tryParseReference } from '../../images/image-reference.js';
import { requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI PullImage: finds an image in the image folders or in its registry, which gets the credentials of the request. NOT_FOUND
 * says what was searched.
 */
export async function pullImage(
  { images }: RpcContext,
  { image, auth }: PullImageRequest,
  signal: AbortSignal,
): Promise<PullImageResponse> {
  const wanted = requireImage(image);
  return { imageRef: (await images.pull(wanted, signal, { login: toPullLogin(wanted, auth) })).id };
}

/** Undefined for credentials that are for another server. Throws INVALID_ARGUMENT for what cannot be read. */
export function toPullLogin(image: string, auth: AuthConfig | undefined): Login | undefined {
  if (auth === undefined) return undefined;
  const registry = tryParseReference(image)?.name.split('/')[0] ?? '';
  if (auth.serverAddress !== '' && !isPlaceOf(auth.serverAddress, registry)) return undefined;
  try {
    return toLogin(auth);
  } catch (error) {
    throw invalidArgument(`the credentials of the request are wrong: ${messageOf(error)}`);
  }
}
