import { KeyedMutex } from '#base/async/keyed-mutex.js';
import { staticPodName } from '#kube/pod/static-pod.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest } from '../http/api-request.js';

/**
 * Changes of one object, one after another.
 *
 * A patch is made of the object as it is and written as a whole: with another change between the two, one of
 * them would be lost, or an object that was just deleted would be back.
 */
export class ObjectTurns {
  readonly #turns = new KeyedMutex();
  readonly #podEnding: string;

  /** The paths of a pod have its name with or without that of the node behind it. */
  constructor({ nodeName }: { readonly nodeName: string }) {
    this.#podEnding = staticPodName('', nodeName);
  }

  /** The handler, once earlier changes of the object that the path names have ended. Bodies are read before. */
  inTurn(plural: string, handle: ApiHandler): ApiHandler {
    return async (request) => {
      const read = await withBody(request);
      const { namespace = '', name = '' } = request.params;
      const change = async (): Promise<ApiAnswer> => handle(read);
      const own = plural === 'pods' ? this.#toPodName(name) : name;
      return this.#turns.run(`${plural}/${namespace}/${own}`, change, request.signal);
    };
  }

  /** Without the node. Pods whose manifests have it in the name share their turns with those without. */
  #toPodName(name: string): string {
    let own = name;
    while (own.endsWith(this.#podEnding)) own = own.slice(0, -this.#podEnding.length);
    return own;
  }
}

/** A client that sends slowly keeps no other one waiting. */
async function withBody(request: ApiRequest): Promise<ApiRequest> {
  const body = await request.readBody();
  return { ...request, readBody: async () => Promise.resolve(body) };
}
