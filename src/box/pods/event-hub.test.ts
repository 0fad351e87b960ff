import { describe, expect, it } from 'vitest';
import { ContainerEventResponse } from '../../watch/cri/generated/runtime/v1/cri.js';
import { EventHub, type EventSink } from './event-hub.js';

function aReader(options: { takes: number }) {
  const heard: string[] = [];
  const state = { dropped: 0, ended: 0, takes: options.takes };
  const sink: EventSink = {
    write: (event: ContainerEventResponse) => {
      heard.push(event.containerId);
      return heard.length < state.takes;
    },
    drop: () => {
      state.dropped++;
    },
    end: () => {
      state.ended++;
    },
  };
  return { sink, heard, state };
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
    const [quick, slow] = [aReader({ takes: Infinity }), aReader({ takes: 3 })];
    hub.add(quick.sink);
    const slowReader = hub.add(slow.sink);
    const ids = publish(hub, 10);
    expect(quick.heard).toEqual(ids);
    expect(slow.heard).toEqual(ids.slice(0, 3));
    slow.state.takes = 6;
    slowReader.resume();
    expect(slow.heard).toEqual(ids.slice(0, 6));
    slow.state.takes = Infinity;
    slowReader.resume();
    expect(slow.heard).toEqual(ids);
  });

  it('drops a reader exactly when its queue would grow beyond its bound, and counts it', () => {
    const hub = new EventHub();
    const stuck = aReader({ takes: 1 });
    const quick = aReader({ takes: Infinity });
    hub.add(stuck.sink);
    hub.add(quick.sink);
    publish(hub, hub.readerCapacity + 1);
    expect([stuck.state.dropped, hub.readers, hub.droppedReaders]).toEqual([0, 2, 0]);
    publish(hub, 1);
    expect([stuck.state.dropped, hub.readers, hub.droppedReaders]).toEqual([1, 1, 1]);
    publish(hub, 5);
    expect(stuck.state.dropped).toBe(1);
    expect(stuck.heard).toEqual(['c0']);
    expect(quick.heard).toHaveLength(1007);
  });

  it('takes a smaller bound', () => {
    const hub = new EventHub({ readerCapacity: 2 });
    const stuck = aReader({ takes: 1 });
    hub.add(stuck.sink);
    publish(hub, 3);
    expect(stuck.state.dropped).toBe(0);
    publish(hub, 1);
    expect(stuck.state.dropped).toBe(1);
  });

  it('is active as long as somebody listens', () => {
    const hub = new EventHub();
    const { sink, state } = aReader({ takes: Infinity });
    expect(hub.active).toBe(false);
    hub.add(sink);
    expect(hub.active).toBe(true);
    hub.close();
    expect([hub.active, state.ended]).toEqual([false, 1]);
  });
});
