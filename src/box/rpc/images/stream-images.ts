import { type StreamImagesRequest, type StreamImagesResponse } from '#watch/messages';
import { inPieces } from '../adapters.js';
import { listImages } from './list-images.js';
import { type RpcContext } from '../rpc-context.js';

/** CRI StreamImages: the list in pieces. */
export function* streamImages(
  context: RpcContext,
  { filter }: StreamImagesRequest,
): Generator<StreamImagesResponse> {
  for (const images of inPieces(listImages(context, { filter }).images)) yield { images };
}
