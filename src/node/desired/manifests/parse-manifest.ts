import { type StaticPodOrigin } from '#kube/pod/static-pod.js';
import { messageOf } from '#base/errors/errors.js';
import { aboutFile, readManifests } from './manifest-reader.js';
import { toSourceObject } from './source-object.js';
import { type ParsedManifest, toSourcePod } from './source-pod.js';

/** A file or body to parse, and the owner of its pods and objects. */
export interface ParseRequest {
  readonly bytes: Uint8Array;
  /** For places and messages. */
  readonly file: string;
  readonly origin: Pick<StaticPodOrigin, 'source' | 'nodeName'>;
}

/** The result of a {@link ParseRequest}: parsed, or given up after a deadline. */
export type ParseOutcome =
  | { readonly kind: 'parsed'; readonly manifest: ParsedManifest }
  | { readonly kind: 'gave-up'; readonly why: string };

/** Parses manifests, one after the other. */
export interface ManifestParser {
  /** Rejects only with the signal's reason. */
  parse(request: ParseRequest, signal: AbortSignal): Promise<ParseOutcome>;
}

/**
 * Reads the pods, ConfigMaps and Secrets of a file or body, and turns the pods into pods of the node. Never
 * throws.
 *
 * Empty text counts as a problem, as full disks leave such files. An empty List means that nothing is wanted.
 */
export function parseManifest({ bytes, file, origin }: ParseRequest): ParsedManifest {
  const { pods, objects, problems, isEmpty } = readManifests(bytes, {
    ...{ file, nodeName: origin.nodeName, mayEdit: true },
  });
  const empty = 'there is no pod in it; remove it, or write a List without items, to have none';
  return {
    pods: pods.map((each) => toSourcePod(each, origin)),
    objects: objects.map(toSourceObject),
    problems: isEmpty ? [aboutFile(file, empty)] : problems,
  };
}

/** The same for an agent: even a bug that a manifest triggers must not end it. */
export function parseHere(request: ParseRequest): ParseOutcome {
  try {
    return { kind: 'parsed', manifest: parseManifest(request) };
  } catch (error) {
    return { kind: 'gave-up', why: `it cannot be read: ${messageOf(error)}` };
  }
}

/** Parses synchronously: for tests, and for programs that have nothing else to do meanwhile. */
export const INLINE_PARSER: ManifestParser = {
  parse: async (request, signal) => {
    signal.throwIfAborted();
    return Promise.resolve({ kind: 'parsed', manifest: parseManifest(request) });
  },
};
