import { type RemoveImageRequest, type RemoveImageResponse } from '#watch/messages';
import { requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI RemoveImage: by an id with all names, as a kubelet's collector does; by a name that name alone, and the image with its
 * last one, as CRI-O does. One that is not here is no error; the built-in one stays.
 */
export async function removeImage(
  { images }: RpcContext,
  { image }: RemoveImageRequest,
): Promise<RemoveImageResponse> {
  await images.remove(requireImage(image));
  return {};
}
