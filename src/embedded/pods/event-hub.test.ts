import { describe, expect, it } from 'vitest';
import { ContainerEventResponse } from '../../cri/generated/runtime/v1/cri.js';
import { EventHub, EventReader, READER_QUEUE_CAPACITY } from './event-hub.js';

function reader(options: { takes: number }) {
  const heard: string[] = [];
  const state = { dropped: 0, ended: 0, takes: options.takes };
  const sink = {
    write: (event: ContainerEventResponse) => {
      heard.push(event.containerId);
      return heard.length < state.takes;
    },
    drop: () => state.dropped++,
    end: () => state.ended++,
  };
  return { reader: new EventReader(sink), heard, state };
}

function anEvent(containerId: string): ContainerEventResponse {
  return ContainerEventResponse.fromPartial({ containerId });
}

function publish(hub: EventHub, count: number): string[] {
  const ids = Array.from({ length: count }, (_, at) => `c${at}`);
  for (const id of ids) hub.publish(anEvent(id));
  return ids;
}

describe('EventHub', () => {
  it('gives each reader every event in order, across a pause of the connection', () => {
    const hub = new EventHub();
    const [quick, slow] = [reader({ takes: Infinity }), reader({ takes: 3 })];
    hub.add(quick.reader);
    hub.add(slow.reader);
    const ids = publish(hub, 10);
    expect(quick.heard).toEqual(ids);
    expect(slow.heard).toEqual(ids.slice(0, 3));
    slow.state.takes = 6;
    slow.reader.resume();
    expect(slow.heard).toEqual(ids.slice(0, 6));
    slow.state.takes = Infinity;
    slow.reader.resume();
    expect(slow.heard).toEqual(ids);
  });

  it('drops a reader exactly when its queue would grow beyond its bound, and counts it', () => {
    const hub = new EventHub();
    const stuck = reader({ takes: 1 });
    const quick = reader({ takes: Infinity });
    hub.add(stuck.reader);
    hub.add(quick.reader);
    publish(hub, READER_QUEUE_CAPACITY + 1);
    expect([stuck.state.dropped, hub.readers, hub.droppedReaders]).toEqual([0, 2, 0]);
    publish(hub, 1);
    expect([stuck.state.dropped, hub.readers, hub.droppedReaders]).toEqual([1, 1, 1]);
    publish(hub, 5);
    expect(stuck.state.dropped).toBe(1);
    expect(stuck.heard).toEqual(['c0']);
    expect(quick.heard).toHaveLength(READER_QUEUE_CAPACITY + 7);
  });

  it('is active as long as somebody listens', () => {
    const hub = new EventHub();
    const { reader: only, state } = reader({ takes: Infinity });
    expect(hub.active).toBe(false);
    hub.add(only);
    expect(hub.active).toBe(true);
    hub.close();
    expect([hub.active, state.ended]).toEqual([false, 1]);
  });
});
