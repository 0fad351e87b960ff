/**
 * Reads the JSON documents of the OCI image specification (and Docker's of the same shape): strict where something is
 * built on a field, silent about fields that nobody here needs.
 *
 * @module
 */
import { isRecord } from '#base/text/is-record.js';
import { refused, unimplemented } from '../../rpc-error.js';
import { isDigest } from './digest.js';

/** What kind of image a manifest is for. Absent parts are unknown. */
export interface Platform {
  readonly os?: string;
  readonly architecture?: string;
  readonly variant?: string;
}

/** A pointer to a blob. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly platform?: Platform;
}

/** `index.json`, an image index, or Docker's manifest list. */
export interface ImageIndex {
  readonly manifests: readonly Descriptor[];
  /** What stands between them and is no descriptor. */
  readonly broken: readonly BrokenDescriptor[];
}

/** An entry of an index that points to nothing, and what it would have been. */
export interface BrokenDescriptor {
  readonly error: unknown;
  readonly digest: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Which config and which layers make an image; layers from the lowest to the highest. */
export interface ImageManifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** How the image wants to be run. */
export interface ImageConfig {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  /** `user`, `uid`, `user:group` …; empty for root. */
  readonly user: string;
  /** Absolute; empty when the image does not say. */
  readonly workingDir: string;
  /** `SIGQUIT`, `3`; empty when the image does not say. */
  readonly stopSignal: string;
  /** Paths that the image wants to be volumes. */
  readonly volumes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** The config blob: how to run it, what it is made for, and the digests of its layers once unpacked. */
export interface ImageConfigDocument {
  readonly config: ImageConfig;
  readonly platform: Platform;
  readonly diffIds: readonly string[];
}

/** No document of an image is larger; the largest seen are some tens of KiB. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const MAX_LAYERS = 500;
const MAX_MANIFESTS = 2_000;
/** More than any disk here has; below what arithmetic can take. */
const MAX_BLOB_BYTES = 2 ** 46;

const INDEX_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

/** What a name may point to. */
export const DOCUMENT_TYPES: readonly string[] = [...MANIFEST_TYPES, ...INDEX_TYPES];

/** For errors: what registries have of old, which containerd no longer takes either. */
export const SCHEMA_1 =
  "of Docker's schema 1, which is not supported: the image has to be pushed again by a newer tool";

/** Whether a descriptor points to an index. */
export function isIndex({ mediaType }: Descriptor): boolean {
  return INDEX_TYPES.includes(mediaType);
}

/** Whether a descriptor points to a manifest. */
export function isManifest({ mediaType }: Descriptor): boolean {
  return MANIFEST_TYPES.includes(mediaType);
}

/**
 * `what` names the document in errors, here and below. Throws UNKNOWN for what is no index; one entry that is no
 * descriptor hides no other.
 */
export function parseIndex(text: string, what: string): ImageIndex {
  const { manifests } = parseObject(text, what);
  if (!Array.isArray(manifests) || manifests.length > MAX_MANIFESTS)
    throw refused(`${what} has no list of manifests, or too long a one`);
  const found: Descriptor[] = [];
  const broken: BrokenDescriptor[] = [];
  for (const each of manifests) {
    try {
      found.push(toDescriptor(each, what));
    } catch (error) {
      const { digest, annotations } = isRecord(each) ? each : {};
      const text = typeof digest === 'string' ? digest : '';
      broken.push({ error, digest: text, annotations: asStringMap(annotations) });
    }
  }
  return { manifests: found, broken };
}

/** Throws UNKNOWN, or UNIMPLEMENTED for a kind of manifest that is no image of today. */
export function parseManifest(text: string, what: string): ImageManifest {
  const document = parseObject(text, what);
  if (document['schemaVersion'] === 1) throw unimplemented(`${what} is ${SCHEMA_1}`);
  if (document['schemaVersion'] !== 2)
    throw unimplemented(`${what} is a manifest of a kind that is not supported`);
  const { config, layers } = document;
  if (!Array.isArray(layers) || layers.length > MAX_LAYERS)
    throw refused(`${what} has no list of layers, or one of more than ${MAX_LAYERS}`);
  return { config: toDescriptor(config, what), layers: layers.map((each) => toDescriptor(each, what)) };
}

/** Throws UNKNOWN where a field that is there is not of its kind. */
export function parseConfig(text: string, what: string): ImageConfigDocument {
  const document = parseObject(text, what);
  const config = asObject(document['config'] ?? {}, `${what}: config`);
  const rootfs = asObject(document['rootfs'] ?? {}, `${what}: rootfs`);
  const strings = (name: string) => asStrings(config[name] ?? [], `${what}: ${name}`);
  const string = (name: string) => asString(config[name] ?? '', `${what}: ${name}`);
  const diffIds = asStrings(rootfs['diff_ids'] ?? [], `${what}: diff_ids`);
  if (!diffIds.every(isDigest)) throw refused(`${what} has a diff_id that is no digest known here`);
  return {
    config: {
      entrypoint: strings('Entrypoint'),
      cmd: strings('Cmd'),
      env: strings('Env').filter((entry) => entry.includes('=')),
      user: string('User'),
      workingDir: string('WorkingDir'),
      stopSignal: string('StopSignal'),
      volumes: Object.keys(asObject(config['Volumes'] ?? {}, `${what}: Volumes`)),
      labels: asStringMap(config['Labels'] ?? {}),
    },
    platform: toPlatform(document) ?? {},
    diffIds,
  };
}

function toDescriptor(value: unknown, what: string): Descriptor {
  const { mediaType, digest, size, annotations, platform } = asObject(value, `${what}: a descriptor`);
  if (typeof digest !== 'string' || !isDigest(digest))
    throw refused(`${what} points to something whose digest is of no kind known here`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0 || size > MAX_BLOB_BYTES)
    throw refused(`${what} gives ${digest} a size that cannot be`);
  const known = toPlatform(platform);
  return {
    mediaType: typeof mediaType === 'string' ? mediaType : '',
    digest,
    size,
    annotations: asStringMap(annotations ?? {}),
    ...(known === undefined ? {} : { platform: known }),
  };
}

function toPlatform(value: unknown): Platform | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const facts = value as Record<string, unknown>;
  const text = (name: string) =>
    typeof facts[name] === 'string' && facts[name] !== '' ? facts[name] : undefined;
  const [os, architecture, variant] = [text('os'), text('architecture'), text('variant')];
  return {
    ...(os === undefined ? {} : { os }),
    ...(architecture === undefined ? {} : { architecture }),
    ...(variant === undefined ? {} : { variant }),
  };
}

function parseObject(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the file, which may be any file.
    throw refused(`${what} is not JSON`);
  }
  return asObject(value, what);
}

function asObject(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw refused(`${what} is not an object`);
  return value;
}

function asString(value: unknown, what: string): string {
  if (typeof value !== 'string' || value.includes('\0')) throw refused(`${what} is not a text`);
  return value;
}

function asStrings(value: unknown, what: string): string[] {
  if (!Array.isArray(value)) throw refused(`${what} is not a list`);
  return value.map((each) => asString(each, what));
}

function asStringMap(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
