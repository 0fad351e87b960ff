import { type PullImageRequest, type PullImageResponse } from '#watch/messages';
import { requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI PullImage: finds an image in the image folders; NOT_FOUND says what was searched. Credentials play no part. */
export async function pullImage(
  { images }: RpcContext,
  { image }: PullImageRequest,
  signal: AbortSignal,
): Promise<PullImageResponse> {
  return { imageRef: (await images.pull(requireImage(image), signal)).id };
}
