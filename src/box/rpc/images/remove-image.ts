import { type RemoveImageRequest, type RemoveImageResponse } from '#watch/messages';
import { requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI RemoveImage: with all its names; one that is not here is no error; the built-in one stays. */
export async function removeImage(
  { images }: RpcContext,
  { image }: RemoveImageRequest,
): Promise<RemoveImageResponse> {
  await images.remove(requireImage(image));
  return {};
}
