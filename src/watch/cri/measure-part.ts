import { type PodRef } from '#kube/pod/pod-ref.js';
import { type CallOptions, type RawCaller } from './client-core.js';
import { CRI_METHODS } from './methods.js';

/** How much of a list is about one sandbox. */
export interface ListPart {
  /** Of the answer. */
  readonly bytes: number;
  readonly items: number;
  /** Where the list is one of sandboxes. */
  readonly pod: PodRef | undefined;
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
    return { bytes: bytes.length, items: containers.length, pod: undefined };
  }
  const list = CRI_METHODS.listPodSandbox;
  const bytes = await client.callForBytes(list, { filter: { id: sandboxId } }, options);
  const { items } = client.decodeMessage(list, bytes);
  const { uid = '', namespace = '', name = '' } = items[0]?.metadata ?? {};
  const pod = items.length === 0 ? undefined : { uid: uid === '' ? sandboxId : uid, namespace, name };
  return { bytes: bytes.length, items: items.length, pod };
}
