import { isUnimplemented } from '#base/errors/errors.js';

import { type CallOptions, type RawCaller } from './client-core.js';
import { type DeepPartial } from './generated/runtime/v1/cri.js';
import { CRI_METHODS, type CriMethod } from './methods.js';

/** Lists all containers and all sandboxes as undecoded messages, for {@link scanList}. */
export class RawLists {
  readonly #client: RawCaller;
  // By streaming method: the generation of the connection in which the runtime reported it as unimplemented.
  readonly #unimplementedIn = new Map<string, number>();

  constructor(options: { readonly client: RawCaller }) {
    this.#client = options.client;
  }

  /** Messages whose items together are all containers. */
  containers(options: CallOptions): Promise<readonly Buffer[]> {
    return this.#list(CRI_METHODS.streamContainers, CRI_METHODS.listContainers, options);
  }

  /** Messages whose items together are all sandboxes. */
  sandboxes(options: CallOptions): Promise<readonly Buffer[]> {
    return this.#list(CRI_METHODS.streamPodSandboxes, CRI_METHODS.listPodSandbox, options);
  }

  /**
   * A stream has no limit on its total size, so it is tried first; a runtime without streams is asked once a
   * connection.
   */
  async #list<StreamRequest, StreamResponse, Request, Response>(
    streaming: CriMethod<StreamRequest, StreamResponse, true>,
    unary: CriMethod<Request, Response, false>,
    options: CallOptions,
  ): Promise<readonly Buffer[]> {
    const client = this.#client;
    const known = this.#unimplementedIn.get(streaming.name);
    if (known === undefined || known !== client.connectionGeneration) {
      try {
        const messages: Buffer[] = [];
        const onMessage = (message: Buffer): void => void messages.push(message);
        await client.streamBytes(streaming, {} as DeepPartial<StreamRequest>, { onMessage }, options);
        return messages;
      } catch (error) {
        if (!isUnimplemented(error)) throw error;
        this.#unimplementedIn.set(streaming.name, client.connectionGeneration);
      }
    }
    return [await client.callForBytes(unary, {} as DeepPartial<Request>, options)];
  }
}
