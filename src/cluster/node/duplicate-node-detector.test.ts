import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { readNode } from './node-object.js';
import { type MachineInfo, type NodeEvent } from './node-ports.js';
import { DuplicateNodeDetector } from './duplicate-node-detector.js';

const MACHINE: MachineInfo = {
  ...{ machineID: 'm', systemUUID: 's', bootID: 'b', kernelVersion: '6.1' },
  ...{ osImage: 'Debian', operatingSystem: 'linux', architecture: 'amd64' },
};

let clock: FakeClock;
let logger: LogRecorder;
let events: NodeEvent[];
let rivals: DuplicateNodeDetector;
beforeEach(() => {
  clock = new FakeClock();
  logger = new LogRecorder();
  events = [];
  rivals = new DuplicateNodeDetector({
    nodeName: 'here',
    onEvent: (event) => events.push(event),
    clock,
    logger,
  });
});
const see = (ids: object): void =>
  rivals.noteNode(
    readNode({ metadata: { name: 'here' }, status: { nodeInfo: { ...MACHINE, ...ids } } })!,
    MACHINE,
  );

describe('another agent of the same name', () => {
  it('is told of when it renews the lease again and again, every ten minutes', async () => {
    rivals.noteForeignRenewal('then');
    expect(events).toEqual([]);
    for (let minute = 0; minute < 25; minute++) {
      await clock.advance(60_000);
      rivals.noteForeignRenewal('then');
    }
    expect(events).toHaveLength(3);
    expect(events[0]).toEqual({
      ...{ type: 'Warning', reason: 'NodeNameConflict' },
      message:
        'Another agent keeps the Node here, too: the lease was renewed at then by somebody else; stop one of the two, or give it another --node-name',
    });
    expect(logger.complaints).toHaveLength(3);
  });

  it('is not told of for what happens once, as when it was just ending', async () => {
    for (let hour = 0; hour < 3; hour++) {
      rivals.noteForeignRenewal('then');
      await clock.advance(3_600_000);
    }
    expect(events).toEqual([]);
  });

  it('is told of when the Node becomes that of another machine, and not for what it was before', () => {
    see({ bootID: 'before' });
    see({ bootID: 'before' });
    expect(rivals.isOurs).toBe(false);
    see({});
    expect(rivals.isOurs).toBe(true);
    see({ systemUUID: 'other', bootID: 'theirs' });
    see({});
    expect(events).toEqual([]);
    see({ systemUUID: 'other', bootID: 'theirs' });
    expect(events.map(({ message }) => message)).toEqual([
      'Another agent keeps the Node here, too: the Node describes another machine: systemUUID other instead of s, bootID theirs instead of b; stop one of the two, or give it another --node-name',
    ]);
  });
});
