import { createHash } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { Image } from '../cri/generated/runtime/v1/cri.js';
import { RpcError } from './rpc-error.js';

/** The image that is the host itself. */
export const HOST_IMAGE = 'podloop.local/host';

const DIGEST = `sha256:${createHash('sha256').update(HOST_IMAGE).digest('hex')}`;
const HOST: Image = Image.fromPartial({
  id: DIGEST,
  repoTags: [`${HOST_IMAGE}:latest`],
  repoDigests: [`${HOST_IMAGE}@${DIGEST}`],
  uid: { value: BigInt(process.getuid?.() ?? 0) },
  pinned: true,
});

/** Which images there are: today one, {@link HOST_IMAGE}, whose files are those of the host. */
export class ImageCatalog {
  get images(): readonly Image[] {
    return [HOST];
  }

  /** By reference, with or without tag or digest, or by id. */
  find(reference: string): Image | undefined {
    const names = [HOST_IMAGE, HOST.id, ...HOST.repoTags, ...HOST.repoDigests];
    return names.includes(reference) ? HOST : undefined;
  }

  /** As {@link find}; throws a NOT_FOUND that names what there is. */
  get(reference: string): Image {
    const image = this.find(reference);
    if (image === undefined) {
      const message = `image "${reference}" is not here, and this runtime cannot fetch any: it has ${HOST_IMAGE}`;
      throw new RpcError(status.NOT_FOUND, message);
    }
    return image;
  }
}
