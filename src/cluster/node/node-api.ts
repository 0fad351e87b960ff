import { isAnswer, type KubeClient, type KubeRequest, retryAfterMsOf } from '../client/kube-client.js';
import { type NodeObject, readNode } from './node-object.js';

/**
 * Webhooks that want to see a new Node are asked first, each for up to 30 s; after 60 s in all an API server gives up, and says what
 * it has waited for.
 */
const CREATE_LIMIT_MS = 70_000;

/** The requests about the one Node that is ours. */
export class NodeApi {
  readonly #client: KubeClient;
  readonly #path: string;
  readonly #timeoutMs: number;

  /** @param timeoutMs of each request but that which creates it. */
  constructor(client: KubeClient, name: string, timeoutMs: number) {
    this.#client = client;
    this.#path = `/api/v1/nodes/${encodeURIComponent(name)}`;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * As it is stored; with `notBefore` as the API server remembers it, which costs it next to nothing: no older than this
   * resourceVersion.
   */
  async get(signal: AbortSignal, { notBefore }: { readonly notBefore?: string } = {}): Promise<NodeObject> {
    const query = notBefore === undefined ? {} : { query: { resourceVersion: notBefore } };
    return this.#read(await this.#request({ method: 'GET', path: this.#path, ...query, signal }));
  }

  async create(node: NodeObject, signal: AbortSignal): Promise<NodeObject> {
    const request = { method: 'POST', path: '/api/v1/nodes', body: node, signal } as const;
    return this.#read(await this.#request(request, CREATE_LIMIT_MS));
  }

  /** Status, labels and annotations, as a strategic merge patch. */
  async patchStatus(body: unknown, signal: AbortSignal): Promise<NodeObject> {
    const path = `${this.#path}/status`;
    return this.#read(await this.#request({ method: 'PATCH', path, body, signal }));
  }

  /** Without the Node, no pod is started and no status is reported. */
  async #request(request: KubeRequest, timeoutMs = this.#timeoutMs): Promise<unknown> {
    return await this.#client.request<unknown>({ ...request, timeoutMs, isUrgent: true });
  }

  #read(answer: unknown): NodeObject {
    const node = readNode(answer);
    if (node === undefined) throw new Error('the API server answered with something that is no Node');
    return node;
  }
}

/** Whether there is no such object. */
export function isGone(error: unknown): boolean {
  return isAnswer(error, 404);
}

/** Whether there is such an object already. */
export function isThereAlready(error: unknown): boolean {
  return isAnswer(error, 409) && error.reason === 'AlreadyExists';
}

/** Whether somebody else has changed the object in between. */
export function isConflict(error: unknown): boolean {
  return isAnswer(error, 409) && error.reason !== 'AlreadyExists';
}

/** No node is silent for longer because it was asked to be: its pods would be taken from it. */
const MAX_DELAY_MS = 10_000;

/** For how long the API server wants to be left alone; 0 when it did not say. */
export function askedDelayMs(error: unknown): number {
  return Math.min(retryAfterMsOf(error), MAX_DELAY_MS);
}
