import { type ListImagesRequest, type ListImagesResponse } from '#watch/messages';
import { type RpcContext } from '../rpc-context.js';

/** CRI ListImages: the images that are pulled, or the one that the filter names. */
export function listImages({ images }: RpcContext, { filter }: ListImagesRequest): ListImagesResponse {
  const wanted = filter?.image?.image ?? '';
  if (wanted === '') return { images: [...images.images] };
  const image = images.find(wanted);
  return { images: image === undefined ? [] : [image] };
}
