import { ListContainersResponse, ListPodSandboxResponse } from '#watch/messages';
import { ifReadable, readString } from '#base/wire/protobuf-fields.js';
import { SliceYielder } from '#base/async/slices.js';
import { kindOf, subjectOfRead } from './method-kinds.js';
import { findPodOfRequest, namesItsPod, type RecordedPod } from './pod-of-request.js';
import { type RecordingFile } from './recording-file.js';
import { type RecordedCall } from './replay/timeline.js';

export { type RecordedPod } from './pod-of-request.js';

const MAX_PODS = 10_000;
const LISTS_PER_SLICE = 5;
/** What is made between two lists, and gone in the second, is in no list. */
const MAKES = new Set(['RunPodSandbox', 'CreateContainer']);
const MAX_MADE = 100_000;

/** Changes whose first field is not the id of what they are about. */
const OF_NO_ID = new Set(['RunPodSandbox', 'PullImage', 'RemoveImage', 'UpdateRuntimeConfig']);

/** What a call is about. */
export interface CallSubject {
  /** The container or sandbox; empty when it is about none. */
  readonly subject: string;
  /** The pod that it belongs to, if that is known. */
  readonly pod: RecordedPod | undefined;
}

/**
 * The pods that were ever listed in a recording, and to which pod ids of containers and sandboxes belong, as lists and the
 * calls that made them tell.
 */
export class RecordedPods {
  readonly #pods = new Map<string, RecordedPod>();
  readonly #podOfSandbox = new Map<string, RecordedPod>();
  readonly #sandboxOfContainer = new Map<string, string>();

  /** Looks into each different list once, and into what made a sandbox or a container. */
  static async find(
    file: RecordingFile,
    calls: readonly RecordedCall[],
    signal?: AbortSignal,
  ): Promise<RecordedPods> {
    const found = new RecordedPods();
    const seen = new Set<number>();
    let made = 0;
    const slices = new SliceYielder({ itemsPerSlice: LISTS_PER_SLICE });
    for (const call of calls) {
      const { method, messages } = call;
      if (MAKES.has(method.name)) {
        if (++made > MAX_MADE) continue;
        signal?.throwIfAborted();
        await found.#learnMade(file, call);
        if (slices.isFull()) await slices.nextSlice();
        continue;
      }
      const isOfSandboxes = method.name === 'ListPodSandbox' || method.name === 'StreamPodSandboxes';
      if (!isOfSandboxes && method.name !== 'ListContainers' && method.name !== 'StreamContainers') continue;
      for (const { blob } of messages) {
        if (seen.has(blob)) continue;
        seen.add(blob);
        signal?.throwIfAborted();
        const list = await file.readBlob(blob);
        try {
          if (isOfSandboxes) found.#learnSandboxes(list);
          else found.#learnContainers(list);
        } catch {
          // An unreadable one names no pod.
        }
        if (slices.isFull()) await slices.nextSlice();
      }
    }
    return found;
  }

  get all(): readonly RecordedPod[] {
    return [...this.#pods.values()];
  }

  /** The pod to which a container or a sandbox belongs; undefined when that is not known. */
  findById(id: string): RecordedPod | undefined {
    return this.#podOfSandbox.get(this.#sandboxOfContainer.get(id) ?? id);
  }

  /** What a call is about: the pod that its request names, or the one of its container or sandbox. */
  async findOfCall(file: RecordingFile, call: RecordedCall): Promise<CallSubject> {
    const subject = await subjectOf(file, call);
    return { subject, pod: (await podNamedBy(file, call)) ?? this.findById(subject) };
  }

  #learnSandboxes(list: Buffer): void {
    for (const { id, metadata } of ListPodSandboxResponse.decode(list).items) {
      if (metadata === undefined || this.#podOfSandbox.size >= MAX_PODS) continue;
      const { namespace, name, uid } = metadata;
      const pod = this.#pods.get(uid) ?? { namespace, name, uid };
      this.#pods.set(uid, pod);
      this.#podOfSandbox.set(id, pod);
    }
  }

  #learnContainers(list: Buffer): void {
    for (const { id, podSandboxId } of ListContainersResponse.decode(list).containers) {
      this.#learnContainer(id, podSandboxId);
    }
  }

  #learnContainer(id: string, sandboxId: string): void {
    if (this.#sandboxOfContainer.size < MAX_PODS * 10) this.#sandboxOfContainer.set(id, sandboxId);
  }

  async #learnMade(file: RecordingFile, { method, request, messages }: RecordedCall): Promise<void> {
    if (request === undefined) return;
    const pod = findPodOfRequest(method, await file.readBlob(request));
    const made = messages[0] === undefined ? '' : await readId(file, messages[0].blob);
    const isContainer = method.name === 'CreateContainer';
    const sandboxId = isContainer ? await readId(file, request) : made;
    if (isContainer && made !== '') this.#learnContainer(made, sandboxId);
    if (pod === undefined || sandboxId === '' || this.#podOfSandbox.size >= MAX_PODS) return;
    if (!this.#podOfSandbox.has(sandboxId)) this.#podOfSandbox.set(sandboxId, pod);
  }
}

/** The pod that the request itself names. */
async function podNamedBy(
  file: RecordingFile,
  { method, request }: RecordedCall,
): Promise<RecordedPod | undefined> {
  if (request === undefined || !namesItsPod(method)) return undefined;
  return findPodOfRequest(method, await file.readBlob(request));
}

/** The container or sandbox that a call is about; of RunPodSandbox the one that it made. */
async function subjectOf(
  file: RecordingFile,
  { method, request, messages: [answer] }: RecordedCall,
): Promise<string> {
  if (method.name === 'RunPodSandbox' && answer !== undefined) return await readId(file, answer.blob);
  const kind = kindOf(method);
  const isRead = kind === 'read' && subjectOfRead(method) === 'id';
  const isOfOne = kind === 'status' || kind === 'stream' || (kind === 'change' && !OF_NO_ID.has(method.name));
  if (request === undefined || !(isRead || isOfOne)) return '';
  return await readId(file, request);
}

/** The first field of a message, where the id is of what it is about; empty when it cannot be read. */
async function readId(file: RecordingFile, blob: number): Promise<string> {
  const message = await file.readBlob(blob);
  return ifReadable(() => readString(message, 1)) ?? '';
}
