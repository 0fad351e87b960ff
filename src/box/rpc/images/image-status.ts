import { type ImageStatusRequest, type ImageStatusResponse } from '#watch/messages';
import { requireImage } from '../require-id.js';
import { type RpcContext } from '../rpc-context.js';

/**
 * CRI ImageStatus: an image that is not pulled is an empty answer, not an error. Verbose, its `info` is what containerd
 * gives: a JSON object with `chainID` and, as `imageSpec`, the config of the image.
 */
export function imageStatus(
  { images }: RpcContext,
  { image, verbose }: ImageStatusRequest,
): ImageStatusResponse {
  const found = images.find(requireImage(image));
  if (found === undefined || !verbose) return { image: found, info: {} };
  const { chainId, config } = images.describe(found.id);
  return { image: found, info: { info: JSON.stringify({ chainID: chainId, imageSpec: config }) } };
}
