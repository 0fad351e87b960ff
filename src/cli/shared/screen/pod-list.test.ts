import { describe, expect, it } from 'vitest';
import { decodeKeys } from './keys.js';
import {
  findSelected,
  INITIAL_LIST_VIEW,
  keyOfItem,
  type PodListView,
  pressListKey,
  toItems,
} from './pod-list.js';
import { type ScreenPod } from './pod-rows.js';

function aPod(namespace: string, name: string, more: Partial<ScreenPod> = {}): ScreenPod {
  return {
    pod: { uid: `uid-${name}`, namespace, name },
    ...{ status: 'Running', ready: 1, total: 1, restarts: 0, lastRestartAtMs: undefined, createdAtMs: 0 },
    ...more,
  };
}

const PODS = ['a', 'b', 'c', 'd'].map((name) => aPod('default', name));
const SPREAD = [...PODS, aPod('system', 'dns'), aPod('system', 'proxy', { status: 'Error', ready: 0 })];

/** What the keys, as a terminal sends them, make of the list. */
function press(text: string, { pods = PODS, room = 10, view = INITIAL_LIST_VIEW } = {}) {
  let now: PodListView = view;
  const actions: string[] = [];
  for (const key of decodeKeys(text)) {
    const pressed = pressListKey(now, key, toItems(pods, now, room));
    now = pressed.view;
    if (pressed.action !== undefined) actions.push(pressed.action);
  }
  const items = toItems(pods, now, room);
  const item = items[findSelected(items, now)];
  return { view: now, actions, names: items.map(keyOfItem), selected: item && keyOfItem(item) };
}

describe('the list of pods', () => {
  it('is gone through by arrows and letters, and never past an end', () => {
    expect(press('').selected).toBe('pod uid-a');
    expect(press('jj\x1b[B').selected).toBe('pod uid-d');
    expect(press('jjjjjjk').selected).toBe('pod uid-c');
    expect(press('G').selected).toBe('pod uid-d');
    expect(press('Gg').selected).toBe('pod uid-a');
  });

  it('keeps the pod that is selected when others come, and the first when it goes', () => {
    const { view } = press('jj');
    const more = [aPod('default', '0'), ...PODS];
    expect(press('', { pods: more, view }).selected).toBe('pod uid-c');
    expect(press('', { pods: PODS.slice(0, 2), view }).selected).toBe('pod uid-a');
  });

  it.each([
    ['\r', 'open'],
    ['l', 'logs'],
    ['s', 'shell'],
    ['e', 'events'],
    ['?', 'help'],
    ['q', 'quit'],
  ])('%j asks for: %s', (key, action) => {
    expect(press(key).actions).toEqual([action]);
  });

  it('is filtered by what is typed, in which letters mean themselves', () => {
    const typed = press('/PROX', { pods: SPREAD });
    expect(typed).toMatchObject({ names: ['pod uid-proxy'], actions: [] });
    expect(press('/q\x7fdns\rq', { pods: SPREAD })).toMatchObject({
      names: ['pod uid-dns'],
      actions: ['quit'],
    });
    expect(press('/dns\r\x1b', { pods: SPREAD }).names).toHaveLength(6);
    expect(press('/error\r', { pods: SPREAD }).names).toEqual(['pod uid-proxy']);
    expect(press('/zz\r\r', { pods: SPREAD }).actions).toEqual([]);
  });

  it('is grouped by namespace where there is no room, and those groups are open that need somebody', () => {
    expect(press('', { pods: SPREAD, room: 5 }).names).toEqual([
      ...['group default', 'group system', 'pod uid-dns', 'pod uid-proxy'],
    ]);
  });

  it('is grouped by owner where all are of one namespace, else has those first that are not well', () => {
    const owned = PODS.map((pod, at) => ({ ...pod, owner: at < 2 ? 'ReplicaSet/web' : 'Job/backup' }));
    expect(press('', { pods: owned, room: 3 }).names).toEqual([
      ...['group default/ReplicaSet/web', 'group default/Job/backup'],
    ]);
    const sick = PODS.map((pod, at) => (at === 3 ? { ...pod, status: 'CrashLoopBackOff', ready: 0 } : pod));
    expect(press('', { pods: sick, room: 3 }).names[0]).toBe('pod uid-d');
  });

  it('opens and closes groups, by Enter and by arrows', () => {
    const crowded = { pods: SPREAD, room: 5 };
    expect(press('\r', crowded).names).toContain('pod uid-a');
    expect(press('\r\r', crowded).names).not.toContain('pod uid-a');
    expect(press('\x1b[C\x1b[D', crowded).names).not.toContain('pod uid-a');
    expect(press('G\x1b[D', crowded).selected).toBe('group system');
    expect(press('G\x1b[D\x1b[D', crowded).names).toEqual(['group default', 'group system']);
  });

  it('goes through the ways to group', () => {
    expect(press('t', { pods: SPREAD }).names).toEqual([
      'group default',
      ...PODS.map(({ pod }) => `pod ${pod.uid}`),
      'group system',
      ...['pod uid-dns', 'pod uid-proxy'],
    ]);
    expect(press('tt', { pods: SPREAD }).names[0]).toBe('group default/(no owner)');
    expect(press('tttt', { pods: SPREAD }).view.grouping).toBe('auto');
  });
});
