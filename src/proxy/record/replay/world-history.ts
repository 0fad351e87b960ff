import { ContainerStatusResponse, PodSandboxStatusResponse } from '#watch/messages';
import { Mutex } from '#base/async/mutex.js';
import { ifReadable, readString } from '#base/wire/protobuf-fields.js';
import { SliceYielder } from '#base/async/slices.js';
import { type RecordingFile } from '../recording-file.js';
import { type RecordedCall, type Timeline } from './timeline.js';
import { toContainerStatus, toSandboxStatus, World } from './world.js';

/** Something that was seen of the node. */
interface Sight {
  /** From then on it is known, in microseconds since the recording began. */
  readonly at: number;
  readonly call: RecordedCall;
  /** The event that says it; undefined when it is the answer as a whole. */
  readonly event: number | undefined;
}

const TELLING = new Set([
  ...['ListPodSandbox', 'StreamPodSandboxes', 'ListContainers', 'StreamContainers'],
  ...['PodSandboxStatus', 'ContainerStatus', 'GetContainerEvents'],
]);
const STATUSES = new Set(['PodSandboxStatus', 'ContainerStatus']);
const LISTS = {
  sandboxes: ['ListPodSandbox', 'StreamPodSandboxes'],
  containers: ['ListContainers', 'StreamContainers'],
};

/**
 * What was asked at the same time is answered the same: an answer is known from when its question was asked. One that
 * took longer than this was not, and is known from when it came.
 */
const QUICK_US = 1_000_000;
/** Maximum of later answers to search for one that shows the container's present state. */
const MAX_LATER_ANSWERS = 8;
const SIGHTS_PER_SLICE = 50;

/** The node as it was at any moment of a recording, as far as anything was seen of it. */
export class WorldHistory {
  readonly #file: RecordingFile;
  readonly #sights: readonly Sight[];
  /** Of statuses, by the id of what they are about. */
  readonly #statuses = new Map<string, Sight[]>();
  /** From when on there is a list of each. */
  readonly #firstAt: number;
  #world = new World();
  /** How many sights the world was made of. */
  #learned = 0;
  /** All of it is about one world. */
  readonly #turns = new Mutex();

  private constructor(file: RecordingFile, sights: readonly Sight[], firstAt: number) {
    this.#file = file;
    this.#sights = sights;
    this.#firstAt = firstAt;
  }

  /** Finds out which call reported what. */
  static async create(file: RecordingFile, { calls }: Timeline): Promise<WorldHistory> {
    const sights = calls.flatMap(sightsOf).sort((one, other) => one.at - other.at);
    const firstOf = (methods: readonly string[]): number =>
      sights.find(({ call }) => methods.includes(call.method.name))?.at ?? 0;
    const firstAt = Math.max(firstOf(LISTS.sandboxes), firstOf(LISTS.containers));
    const history = new WorldHistory(file, sights, firstAt);
    const slices = new SliceYielder({ itemsPerSlice: SIGHTS_PER_SLICE });
    for (const sight of sights) {
      if (!STATUSES.has(sight.call.method.name) || sight.call.request === undefined) continue;
      const request = await file.readBlob(sight.call.request);
      const id = ifReadable(() => readString(request, 1)) ?? '';
      const list = history.#statuses.get(id) ?? [];
      history.#statuses.set(id, list);
      list.push(sight);
      if (slices.isFull()) await slices.nextSlice();
    }
    return history;
  }

  /** The times at which something was seen of the node, in their order. */
  get times(): readonly number[] {
    return [...new Set(this.#sights.map(({ at }) => Math.max(at, this.#firstAt)))];
  }

  /** Whether any list of that kind was recorded. */
  hasLists(kind: 'sandboxes' | 'containers'): boolean {
    return this.#sights.some(({ call }) => LISTS[kind].includes(call.method.name));
  }

  /** The node at that moment; at the first at which both lists were there, when it is earlier. */
  async at(time: number): Promise<World> {
    return this.#turns.run(() => this.#foldUpTo(time));
  }

  /**
   * The status of a container at that moment: the newest that was told, or a later one that tells of the same state,
   * since the list may have been asked first. Undefined when there is no such container.
   */
  async findContainerStatus(id: string, time: number): Promise<ContainerStatusResponse | undefined> {
    return this.#turns.run(async () => {
      const world = await this.#foldUpTo(time);
      const item = world.findContainer(id);
      const known = world.findContainerStatus(id);
      if (item === undefined || known?.status?.state === item.state) return known;
      for (const answer of await this.#laterAnswers(id, time)) {
        const later = ContainerStatusResponse.decode(answer);
        if (later.status?.state === item.state) return later;
      }
      return toContainerStatus(item, known?.status);
    });
  }

  /** The same of a sandbox. */
  async findSandboxStatus(id: string, time: number): Promise<PodSandboxStatusResponse | undefined> {
    return this.#turns.run(async () => {
      const world = await this.#foldUpTo(time);
      const item = world.findSandbox(id);
      const known = world.findSandboxStatus(id);
      if (item === undefined || known?.status?.state === item.state) return known;
      for (const answer of await this.#laterAnswers(id, time)) {
        const later = PodSandboxStatusResponse.decode(answer);
        if (later.status?.state === item.state) return later;
      }
      return toSandboxStatus(item, known?.status);
    });
  }

  async #foldUpTo(time: number): Promise<World> {
    const until = Math.max(time, this.#firstAt);
    const learnedAt = this.#sights[this.#learned - 1]?.at ?? -Infinity;
    if (learnedAt > until) {
      this.#world = new World();
      this.#learned = 0;
    }
    const slices = new SliceYielder({ itemsPerSlice: SIGHTS_PER_SLICE });
    for (let next = this.#sights[this.#learned]; next !== undefined && next.at <= until;) {
      this.#learned++;
      const request = next.call.request === undefined ? EMPTY : await this.#file.readBlob(next.call.request);
      this.#world.learn(next.call.method.name, request, await this.#readAll(next));
      if (slices.isFull()) await slices.nextSlice();
      next = this.#sights[this.#learned];
    }
    return this.#world;
  }

  async #laterAnswers(id: string, time: number): Promise<Buffer[]> {
    const sights = this.#statuses.get(id) ?? [];
    const later = sights.filter(({ at }) => at > time).slice(0, MAX_LATER_ANSWERS);
    const answers: Buffer[] = [];
    for (const sight of later) answers.push(await this.#readAll(sight));
    return answers;
  }

  /** The messages of a streamed list, one behind the other, are the list. */
  async #readAll({ call, event }: Sight): Promise<Buffer> {
    const blobs = event === undefined ? call.messages.map(({ blob }) => blob) : [event];
    const parts: Buffer[] = [];
    for (const blob of blobs) parts.push(await this.#file.readBlob(blob));
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }
}

const EMPTY = Buffer.alloc(0);

/** What a call reported: each event by itself, an answer as a whole. */
function sightsOf(call: RecordedCall): Sight[] {
  const { method, isWhole, code, at, endAt } = call;
  if (!TELLING.has(method.name)) return [];
  if (method.name === 'GetContainerEvents')
    return call.messages.map(({ at: event, blob }) => ({ at: event, call, event: blob }));
  // Half an answer would say that the rest is gone.
  if (code !== 0 || endAt === undefined || !isWhole) return [];
  const known = endAt - at > QUICK_US ? endAt : at;
  return [{ at: known, call, event: undefined }];
}
