import { findEndpoint, parseEndpoint } from '../cri/index.js';

/**
 * The runtime's `unix:///path` that is meant: the one given, or the one that is found when it is empty. Throws ENDPOINT_….
 *
 * @param socketPaths where it is looked for; the usual places unless told.
 */
export async function findRuntime(endpoint: string, socketPaths?: readonly string[]): Promise<string> {
  return (endpoint === '' ? await findEndpoint(socketPaths) : parseEndpoint(endpoint)).url;
}
