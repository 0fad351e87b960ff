import { Image } from '#watch/messages';
import { type ImageRecord } from './image-records.js';
import { type ImageConfig } from './archive/oci-documents.js';

/** An image as ListImages shows it. */
export function toImage({ id, references, size }: ImageRecord, { user }: ImageConfig): Image {
  return Image.fromPartial({
    id,
    repoTags: references.filter((reference) => !reference.includes('@')),
    repoDigests: references.filter((reference) => reference.includes('@')),
    size: BigInt(size),
    ...toUser(user),
  });
}

/** A number is an id; anything else is a name; neither means root. What follows a colon is a group. */
function toUser(user: string): { uid?: { value: bigint }; username?: string } {
  const name = user.split(':')[0]!;
  if (name === '') return {};
  return /^[0-9]{1,18}$/.test(name) ? { uid: { value: BigInt(name) } } : { username: name };
}
