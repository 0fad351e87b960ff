import { type ImageStatusRequest, type ImageStatusResponse } from '../../cri/generated/runtime/v1/cri.js';
import { requireImage } from './require-id.js';
import { type RpcContext } from './rpc-context.js';

/** CRI ImageStatus: an image that is not there is an empty answer, not an error. */
export function imageStatus(
  { images }: RpcContext,
  { image, verbose }: ImageStatusRequest,
): ImageStatusResponse {
  const found = images.find(requireImage(image));
  const info = { description: 'the files of this host; nothing is stored' };
  return { image: found, info: verbose && found !== undefined ? { info: JSON.stringify(info) } : {} };
}
