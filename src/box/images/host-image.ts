import { Image } from '#watch/messages';
import { sha256Of } from './archive/digest.js';
import { type ImageConfig } from './archive/oci-documents.js';

/** The image that is the host itself: built in, with nothing stored. */
export const HOST_IMAGE = 'podloop.local/host';

const DIGEST = sha256Of(HOST_IMAGE);

/** As the runtime shows it to clients. */
export const HOST: Image = Image.fromPartial({
  id: DIGEST,
  repoTags: [`${HOST_IMAGE}:latest`],
  repoDigests: [`${HOST_IMAGE}@${DIGEST}`],
  uid: { value: BigInt(process.getuid?.() ?? 0) },
  pinned: true,
});

/** It brings no entrypoint: a container needs a command. */
export const HOST_CONFIG: ImageConfig = {
  entrypoint: [],
  cmd: [],
  env: [],
  user: '',
  workingDir: '',
  stopSignal: '',
  volumes: [],
  labels: {},
};

/** Whether a reference, normalised or an id, means the host. */
export function isHostImage(reference: string): boolean {
  return [HOST.id, ...HOST.repoTags, ...HOST.repoDigests].includes(reference);
}
