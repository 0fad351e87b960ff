import { cri } from '#watch';
import { CONTAINER_LIST, FieldOrder, scanList } from '../../src/watch/cri/index.js';
import { PodIndex } from '../../src/watch/observed/pod-index.js';
import { decodeBareList } from '../lists/bare-lists.js';
import { KnownList } from '../lists/known-list.js';

/** Ways of reading id and state of every container from one answer. */
export interface ListReaders {
  /** Read by hand and compared with what is known, by bytes: no more than an idle relist has to do. */
  readonly handWritten: () => Promise<unknown>;
  /** Read by hand into a table from id to state, with a string and an object for each: what is written first. */
  readonly table: () => Promise<unknown>;
  /** As an idle relist does it: each id found among those that are known, each state compared. */
  readonly product: () => Promise<unknown>;
}

/** Makes them for an answer to ListContainers, whose containers are known to the product's side from then on. */
export async function createListReaders(answer: Buffer): Promise<ListReaders> {
  const index = new PodIndex({ counters: { unknownEnums: 0 } });
  const order = new FieldOrder();
  order.useConnection(1);
  let added = 0;
  const product = async (): Promise<void> => {
    index.beginSnapshot();
    index.beginAnswer(answer);
    await scanList(
      answer,
      CONTAINER_LIST,
      { unknownFields: 0 },
      (idStart, idEnd, state, start, end) => {
        if (index.see(idStart, idEnd, state)) return 1;
        added++;
        index.addContainer(cri.Container.decode(answer.subarray(start, end)), idStart, idEnd);
        return 1;
      },
      // One slice: the turns of the loop between slices are not what is measured.
      { order, sliceItems: Number.POSITIVE_INFINITY },
    );
    const finishing = index.finishSnapshot();
    while (finishing.next().done !== true);
  };
  await product();
  const known = added;
  const byHand = new KnownList(decodeBareList(answer, CONTAINER_LIST.stateField), CONTAINER_LIST.stateField);
  return {
    product: async () => {
      await product();
      if (added !== known) throw new Error('a container that was known was taken for a new one');
    },
    handWritten: () => {
      const pass = byHand.compare(answer);
      if (pass.seen !== known || pass.changed > 0)
        throw new Error(`${pass.changed} of ${pass.seen} containers were taken for changed`);
      return Promise.resolve(pass);
    },
    table: () => {
      const states = new Map(
        decodeBareList(answer, CONTAINER_LIST.stateField).map(({ id, state }) => [id, state]),
      );
      if (states.size !== known) throw new Error(`${states.size} containers instead of ${known}`);
      return Promise.resolve(states);
    },
  };
}
