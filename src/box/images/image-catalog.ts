import { status } from '@grpc/grpc-js';
import { Image } from '#watch/messages';
import { RpcError } from '../rpc-error.js';
import { HOST, HOST_CONFIG, isHostImage } from './host-image.js';
import { type ImageRecord, type ImageRecords } from './image-records.js';
import { toReferenceText, tryParseReference } from './image-reference.js';
import { listSome } from './image-search.js';
import { parseConfig, type ImageConfig } from './archive/oci-documents.js';

/** What an {@link ImageCatalog} needs. */
export interface ImageCatalogOptions {
  readonly records: ImageRecords;
  /** Whether the files of these layers are there. */
  readonly isUnpacked: (chainId: string) => boolean;
}

/** Which images there are, by all the names that people give them. */
export class ImageCatalog {
  readonly #records: ImageRecords;
  readonly #isUnpacked: (chainId: string) => boolean;
  readonly #configs = new Map<string, ImageConfig>();

  constructor({ records, isUnpacked }: ImageCatalogOptions) {
    this.#records = records;
    this.#isUnpacked = isUnpacked;
  }

  /** Those that are pulled, the built-in one first. */
  get images(): readonly Image[] {
    return [HOST, ...this.#pulled.map((record) => this.toImage(record))];
  }

  /**
   * A pulled image by reference, with or without tag or digest, or by id, whole or the beginning of its digits that is
   * like no other's. Undefined for what is no reference, too.
   */
  find(reference: string): Image | undefined {
    const parsed = tryParseReference(reference);
    const name = parsed === undefined ? reference : toReferenceText(parsed);
    if (isHostImage(name) || isHostImage(reference)) return HOST;
    const record = this.#records.findByReference(name) ?? this.#findById(reference);
    return record !== undefined && this.#isThere(record) ? this.toImage(record) : undefined;
  }

  /** As {@link find}; throws NOT_FOUND. */
  get(reference: string): Image {
    const image = this.find(reference);
    if (image !== undefined) return image;
    const pulled = this.images.flatMap(({ repoTags }) => repoTags);
    const message = `image "${reference}" is not here: it was not pulled, or removed; there are ${listSome(pulled)}`;
    throw new RpcError(status.NOT_FOUND, message);
  }

  /** How the image wants to be run; also for one that was removed and is in use. Throws NOT_FOUND. */
  configOf(imageId: string): ImageConfig {
    if (imageId === HOST.id) return HOST_CONFIG;
    const known = this.#configs.get(imageId);
    if (known !== undefined) return known;
    const record = this.getRecord(imageId);
    const { config } = parseConfig(record.configText, `the config ${imageId}`);
    this.#configs.set(imageId, config);
    return config;
  }

  /** The image's config as it is stored and the id of its chain of layers. Throws NOT_FOUND. */
  describe(imageId: string): { readonly chainId: string; readonly config: unknown } {
    if (imageId === HOST.id) return { chainId: '', config: {} };
    const { chainId, configText } = this.getRecord(imageId);
    return { chainId, config: JSON.parse(configText) };
  }

  /** Also of one that was removed and is in use. Throws NOT_FOUND. */
  getRecord(imageId: string): ImageRecord {
    const record = this.#records.find(imageId);
    if (record === undefined) throw new RpcError(status.NOT_FOUND, `image "${imageId}" is not here any more`);
    return record;
  }

  toImage(record: ImageRecord): Image {
    return toImage(record, this.configOf(record.id));
  }

  /** Drops what is cached about images that no longer exist. */
  forget(imageIds: readonly string[]): void {
    for (const id of imageIds) this.#configs.delete(id);
  }

  get #pulled(): readonly ImageRecord[] {
    return this.#records.all.filter((record) => this.#isThere(record));
  }

  /** Should somebody have taken its files away, it can be pulled again. */
  #isThere({ pulled, chainId }: ImageRecord): boolean {
    return pulled && this.#isUnpacked(chainId);
  }

  #findById(id: string): ImageRecord | undefined {
    const exact = this.#records.find(id);
    if (exact !== undefined) return exact;
    const digits = id.replace(/^sha256:/, '');
    if (!/^[0-9a-f]{4,64}$/.test(digits)) return undefined;
    const matching = this.#pulled.filter((record) => record.id.startsWith(`sha256:${digits}`));
    return matching.length === 1 ? matching[0] : undefined;
  }
}

/** An image as ListImages shows it. */
function toImage({ id, references, size }: ImageRecord, { user }: ImageConfig): Image {
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
