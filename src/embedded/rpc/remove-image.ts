import { status } from '@grpc/grpc-js';
import { type RemoveImageRequest, type RemoveImageResponse } from '../../cri/generated/runtime/v1/cri.js';
import { RpcError } from '../rpc-error.js';
import { requireImage } from './require-id.js';
import { type RpcContext } from './rpc-context.js';

/** CRI RemoveImage: one that is not here is no error; the built-in one stays. */
export function removeImage({ images }: RpcContext, { image }: RemoveImageRequest): RemoveImageResponse {
  const found = images.find(requireImage(image));
  if (found === undefined) return {};
  throw new RpcError(
    status.FAILED_PRECONDITION,
    `image ${found.repoTags.join()} is built in and cannot be removed`,
  );
}
