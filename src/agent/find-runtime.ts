import { findEndpoint, parseEndpoint } from '../cri/index.js';

/** The runtime's `unix:///path` that is meant: the one given, or the one that is found when it is empty. Throws ENDPOINT_…. */
export async function findRuntime(endpoint: string): Promise<string> {
  return (endpoint === '' ? await findEndpoint() : parseEndpoint(endpoint)).url;
}
