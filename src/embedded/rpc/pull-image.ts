import { type PullImageRequest, type PullImageResponse } from '../../cri/generated/runtime/v1/cri.js';
import { requireImage } from './require-id.js';
import { type RpcContext } from './rpc-context.js';

/** CRI PullImage: finds an image that is here; anything else is NOT_FOUND, naming what there is. */
export function pullImage({ images }: RpcContext, { image }: PullImageRequest): PullImageResponse {
  return { imageRef: images.get(requireImage(image)).id };
}
