import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PodStatus } from '#watch';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { untilTrue } from '#support/until-true.js';
import { OomWatcher } from './oom-watcher.js';

const UID = 'aa-bb-cc';
const ID = 'f00d'.repeat(16);
const aPod = (uid: string, name: string, containers: readonly object[]): PodStatus =>
  ({ uid, namespace: 'default', name, containers }) as unknown as PodStatus;
const POD = aPod(UID, 'web', [{ id: ID, name: 'main' }]);
const POD_GROUP = '/kubepods.slice/kubepods-podaa_bb_cc.slice';
const GROUP = `${POD_GROUP}/cri-containerd-${ID}.scope`;

function makeHarness(device?: string) {
  const [events, node]: [string[], string[]] = [[], []];
  const [clock, logger] = [new FakeClock(), new LogRecorder()];
  const record = (pod: PodRef, { type, reason, container = '', message }: PodEvent): void => {
    events.push(`${pod.name} ${container} ${type} ${reason} ${message}`);
  };
  const watcher = new OomWatcher({
    ...{ pods: () => [aPod('other', 'other', []), POD], events: { record }, clock, logger },
    onSystemOom: ({ reason, message }) => node.push(`${reason} ${message}`),
    ...(device === undefined ? {} : { device }),
  });
  return { watcher, events, node, clock, logger };
}

const toRecord = (text: string): string => `4,1,1000,-;${text}\n`;
const constraint = (limited: string, group = GROUP): string =>
  `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=${limited},task_memcg=${group},task=stress,pid=77,uid=0`;
const KILLED = 'Memory cgroup out of memory: Killed process 77 (stress) total-vm:9kB, anon-rss:8kB';
const WHOLE = `Tasks in ${GROUP} are going to be killed due to memory.oom.group set`;
const ALONE = 'The kernel killed process stress (pid 77) alone:';

describe('a kill for want of memory', () => {
  it.each([
    [
      'at the limit of the container',
      [constraint(GROUP), KILLED],
      `${ALONE} the container was at its memory limit`,
    ],
    ['at the limit of the pod', [constraint(POD_GROUP), KILLED], `${ALONE} the pod was at its memory limit`],
    [
      'at the limit of all pods',
      [constraint('/kubepods.slice'), KILLED],
      `${ALONE} the cgroup /kubepods.slice was at its memory limit`,
    ],
    [
      'of all of the container',
      [constraint(GROUP), KILLED, WHOLE, KILLED],
      'The kernel killed all processes of the container, the first of them stress (pid 77): the container was at its memory limit',
    ],
  ])('is an event of the pod: %s', (_what, lines, message) => {
    const { watcher, events, node } = makeHarness();
    watcher.take(lines.map(toRecord));
    expect(events).toEqual([`web main Warning OOMKilling ${message}`]);
    expect(node).toEqual([]);
  });

  it('is the container’s also from a group below it, and the pod’s where it is in no container', () => {
    const { watcher, events } = makeHarness();
    const pod = `/kubepods/pod${UID}`;
    watcher.take([constraint(`${pod}/${ID}`, `${pod}/${ID}/below`), KILLED].map(toRecord));
    watcher.take([constraint(pod, `${pod}/helper`), KILLED].map(toRecord));
    expect(events).toEqual([
      `web main Warning OOMKilling ${ALONE} the container was at its memory limit`,
      `web  Warning OOMKilling ${ALONE} the pod was at its memory limit`,
    ]);
  });

  it('of the machine is an event of the Node in a kubelet’s words, and of the pod that it hit', () => {
    const { watcher, events, node } = makeHarness();
    const none = `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=${GROUP},task=stress,pid=77,uid=0`;
    watcher.take([none, 'Out of memory: Killed process 77 (stress) total-vm:9kB'].map(toRecord));
    expect(node).toEqual(['SystemOOM System OOM encountered, victim process: stress, pid: 77']);
    expect(events).toEqual([`web main Warning OOMKilling ${ALONE} the machine had no memory left`]);
  });

  it('that a program has written into the log is none', () => {
    const { watcher, events, node } = makeHarness();
    // A facility of 1 and the level of the kernel's own lines.
    watcher.take([constraint(GROUP), KILLED].map((text) => toRecord(text).replace(/^4/, '12')));
    watcher.take(['12,1,1000,-;Out of memory: Killed process 1 (systemd) total-vm:9kB']);
    expect([...events, ...node]).toEqual([]);
  });

  it('is not that of a pod whose uid begins like this one’s', () => {
    const { watcher, events } = makeHarness();
    for (const group of [`/kubepods/pod${UID}d/x`, '/kubepods.slice/kubepods-podaa_bb_ccd.slice/x'])
      watcher.take([constraint(group, group), KILLED].map(toRecord));
    expect(events).toEqual([]);
  });

  it('of somebody else is no event of a pod', () => {
    const { watcher, events } = makeHarness();
    watcher.take([constraint('/system.slice/x', '/system.slice/x'), KILLED].map(toRecord));
    watcher.take([toRecord(KILLED), 'no record', toRecord('anything else')]);
    expect(events).toEqual([]);
  });
});

describe('the kernel’s log', () => {
  it('is read from the start of the watch on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-oom-'));
    const device = join(folder, 'kmsg');
    execFileSync('mkfifo', [device]);
    const writer = openSync(device, 'r+');
    const write = (name: string): number =>
      writeSync(writer, toRecord(`Out of memory: Killed process 1 (${name}) total-vm:9kB`));
    const { watcher, node, clock } = makeHarness(device);
    const end = new AbortController();
    try {
      write('before');
      const running = watcher.run(end.signal);
      await untilTrue(() => clock.pendingTimers === 1);
      write('later');
      await clock.advance(2_000);
      // What belongs to a kill may still be on its way.
      await untilTrue(() => clock.pendingTimers === 1);
      expect(node).toEqual([]);
      await clock.advance(100);
      await untilTrue(() => node.length === 1);
      end.abort();
      await running;
      expect(node).toEqual(['SystemOOM System OOM encountered, victim process: later, pid: 1']);
    } finally {
      closeSync(writer);
      await rm(folder, { recursive: true });
    }
  });

  it('that cannot be read is said once, and ends the watch', async () => {
    const { watcher, logger } = makeHarness('/nonexistent/kmsg');
    await watcher.run(new AbortController().signal);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'No events of kills for want of memory: the kernel’s log cannot be read',
    ]);
  });
});
