import { hasCode, isUnimplemented } from '#base/errors/errors.js';

import { type CallOptions, type RawCaller } from './client-core.js';
import { type DeepPartial, PodSandboxState } from './generated/runtime/v1/cri.js';
import { CRI_METHODS, type CriMethod } from './methods.js';

/** After one was refused as a whole, so many lists are asked for in parts before the whole is tried again. */
const IN_PARTS = 10;

/** Whether a list was larger than the runtime sends, or than the client takes, in one message. */
export function isTooLarge(error: unknown): boolean {
  return hasCode(error, 'CRI_RESOURCE_EXHAUSTED');
}

/** All sandboxes, in messages that are smaller than that of all: those that are ready, and then those that are not. */
export async function listSandboxesInParts(client: RawCaller, options: CallOptions): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  // In the order in which a sandbox goes through them, so that none is missed.
  for (const state of [PodSandboxState.SANDBOX_READY, PodSandboxState.SANDBOX_NOTREADY]) {
    const request = { filter: { state: { state } } };
    messages.push(await client.callForBytes(CRI_METHODS.listPodSandbox, request, options));
  }
  return messages;
}

/** All containers, in a message for each of the sandboxes with these ids. */
export async function listContainersInParts(
  client: RawCaller,
  sandboxIds: readonly string[],
  options: CallOptions,
): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  for (const podSandboxId of sandboxIds) {
    const request = { filter: { podSandboxId } };
    messages.push(await client.callForBytes(CRI_METHODS.listContainers, request, options));
  }
  return messages;
}

/**
 * Lists all containers and all sandboxes as undecoded messages, for {@link scanList}.
 *
 * A list that is too large for one message comes in parts; an item that changes meanwhile may be in two of them, the newer one last.
 */
export class RawLists {
  readonly #client: RawCaller;
  // By method: how many lists are still asked for in parts.
  readonly #inParts = new Map<string, number>();
  // By streaming method: the generation of the connection in which the runtime reported it as unimplemented.
  readonly #unimplementedIn = new Map<string, number>();

  constructor(options: { readonly client: RawCaller }) {
    this.#client = options.client;
  }

  /** Messages whose items together are all containers. */
  containers(options: CallOptions): Promise<readonly Buffer[]> {
    return this.#list(CRI_METHODS.streamContainers, CRI_METHODS.listContainers, options, async () => {
      const ids = await this.#sandboxIds(options);
      return listContainersInParts(this.#client, ids, options);
    });
  }

  /** Messages whose items together are all sandboxes. */
  sandboxes(options: CallOptions): Promise<readonly Buffer[]> {
    return this.#list(CRI_METHODS.streamPodSandboxes, CRI_METHODS.listPodSandbox, options, async () =>
      listSandboxesInParts(this.#client, options),
    );
  }

  /**
   * A stream has no limit on its total size, so it is tried first; a runtime without streams is asked once a
   * connection.
   */
  async #list<StreamRequest, StreamResponse, Request, Response>(
    streaming: CriMethod<StreamRequest, StreamResponse, true>,
    unary: CriMethod<Request, Response, false>,
    options: CallOptions,
    listInParts: () => Promise<readonly Buffer[]>,
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
    const left = this.#inParts.get(unary.name) ?? 0;
    if (left > 0) {
      this.#inParts.set(unary.name, left - 1);
      return listInParts();
    }
    try {
      return [await client.callForBytes(unary, {} as DeepPartial<Request>, options)];
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      this.#inParts.set(unary.name, IN_PARTS);
      return listInParts();
    }
  }

  async #sandboxIds(options: CallOptions): Promise<string[]> {
    const method = CRI_METHODS.listPodSandbox;
    const answers = await this.sandboxes(options);
    const ids = answers.flatMap((bytes) =>
      this.#client.decodeMessage(method, bytes).items.map(({ id }) => id),
    );
    return [...new Set(ids)];
  }
}
