import { type CallOptions, type RawCaller } from './client-core.js';
import { type PodSandboxMetadata } from './generated/runtime/v1/cri.js';
import { CRI_METHODS } from './methods.js';

/** How much of a list is about one sandbox. */
export interface ListPart {
  /** Of the answer. */
  readonly bytes: number;
  readonly items: number;
  /** Of the sandbox, where the list is one of sandboxes. */
  readonly metadata: PodSandboxMetadata | undefined;
}

/** Asks for what a list says of one sandbox, to know how large that is: where the runtime does not send the whole in one message. */
export async function measurePart(
  client: Pick<RawCaller, 'callForBytes' | 'decodeMessage'>,
  method: 'ListPodSandbox' | 'ListContainers',
  sandboxId: string,
  options: CallOptions,
): Promise<ListPart> {
  if (method === 'ListContainers') {
    const list = CRI_METHODS.listContainers;
    const bytes = await client.callForBytes(list, { filter: { podSandboxId: sandboxId } }, options);
    const { containers } = client.decodeMessage(list, bytes);
    return { bytes: bytes.length, items: containers.length, metadata: undefined };
  }
  const list = CRI_METHODS.listPodSandbox;
  const bytes = await client.callForBytes(list, { filter: { id: sandboxId } }, options);
  const { items } = client.decodeMessage(list, bytes);
  return { bytes: bytes.length, items: items.length, metadata: items[0]?.metadata };
}
