import { findEndpoint, parseEndpoint, probeEndpoint, type ProbeOptions } from '#watch';
import { hasCode, messageOf } from '#base/errors/errors.js';

/**
 * The runtime's `unix:///path`: the given one, or if that is empty, the one that is found. Throws ENDPOINT_….
 *
 * @param socketPaths where to search (default: the usual places).
 */
export async function getRuntime(endpoint: string, socketPaths?: readonly string[]): Promise<string> {
  return (endpoint === '' ? await findEndpoint(socketPaths) : parseEndpoint(endpoint)).url;
}

/** The same, but undefined when none is given and the machine has none. Throws ENDPOINT_INVALID. */
export async function findRuntime(
  endpoint: string,
  socketPaths?: readonly string[],
): Promise<string | undefined> {
  try {
    return await getRuntime(endpoint, socketPaths);
  } catch (error) {
    if (hasCode(error, 'ENDPOINT_NOT_FOUND')) return undefined;
    throw error;
  }
}

/**
 * What is wrong with the runtime behind an endpoint, in a sentence; undefined when it answers.
 *
 * Rejects only with the signal's reason.
 */
export async function findRuntimeFault(endpoint: string, options: ProbeOptions): Promise<string | undefined> {
  try {
    await probeEndpoint(endpoint, options);
    return undefined;
  } catch (error) {
    options.signal?.throwIfAborted();
    return messageOf(error);
  }
}
