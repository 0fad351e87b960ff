/**
 * What the runtime in the box can do with images beyond CRI: archives in and out, and pulls that say how far they are.
 *
 * A gRPC service of its own at the socket of the runtime. Messages are JSON, archives are bytes in pieces; other runtimes
 * answer UNIMPLEMENTED.
 *
 * @module
 */
import { type ClientUnaryCall, type MethodDefinition } from '@grpc/grpc-js';

/** How far a layer is, in bytes as they are stored. */
export interface LayerState {
  readonly digest: string;
  readonly size: number;
  readonly fetched: number;
  readonly unpacked: number;
}

/** What to pull. */
export interface PullRequest {
  readonly image: string;
  /** `linux/arm64` (default: that of the machine). */
  readonly platform?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** An image that is there. */
export interface TransferredImage {
  readonly id: string;
  /** What its name means now: the digest of a manifest or an index; undefined for the built-in image. */
  readonly digest?: string | undefined;
  /** Whether it was there before under this name. */
  readonly wasThere: boolean;
}

/** What a pull says: often how far its layers are, last the image. */
export type PullNews = { readonly layers: readonly LayerState[] } | { readonly image: TransferredImage };

/** An image that came from an archive. */
export interface LoadedImage {
  readonly id: string;
  /** References that the archive gives it. */
  readonly names: readonly string[];
}

/** What a load says: often how far the layers of an image are, and each image once it is unpacked. */
export type LoadNews = { readonly layers: readonly LayerState[] } | { readonly image: LoadedImage };

/** What to save. */
export interface SaveRequest {
  readonly images: readonly string[];
}

/** A pull that is under way. */
export interface PullState {
  readonly image: string;
  readonly layers: readonly LayerState[];
}

/** Metadata of Load: the name of the archive's file, and the platform that is wanted. */
export const ARCHIVE_NAME = 'podloop-archive-name';
export const PLATFORM = 'podloop-platform';

const SERVICE = '/podloop.box.v1.ImageTransfer';
const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const fromBytes = (bytes: Buffer): unknown => JSON.parse(bytes.toString('utf8'));
const identity = (bytes: Buffer): Buffer => bytes;

function method<Request, Answer>(
  name: string,
  streams: { readonly request: boolean; readonly answer: boolean },
): MethodDefinition<Request, Answer> {
  return {
    path: `${SERVICE}/${name}`,
    ...{ requestStream: streams.request, responseStream: streams.answer },
    ...{ requestSerialize: toBytes, requestDeserialize: fromBytes as (bytes: Buffer) => Request },
    ...{ responseSerialize: toBytes, responseDeserialize: fromBytes as (bytes: Buffer) => Answer },
  };
}

/** The service. */
export const IMAGE_TRANSFER = {
  pull: method<PullRequest, PullNews>('Pull', { request: false, answer: true }),
  load: {
    ...method<Buffer, LoadNews>('Load', { request: true, answer: true }),
    ...{ requestSerialize: identity, requestDeserialize: identity },
  },
  save: {
    ...method<SaveRequest, Buffer>('Save', { request: false, answer: true }),
    ...{ responseSerialize: identity, responseDeserialize: identity },
  },
  listPulls: method<object, readonly PullState[]>('ListPulls', { request: false, answer: false }),
} as const;

/** The part of a call by which it is broken off. */
export type Cancellable = Pick<ClientUnaryCall, 'cancel'>;
