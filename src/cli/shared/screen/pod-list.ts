import { formatPod } from '#kube/pod/pod-ref.js';
import { healthOf, type ListItem, type ScreenPod } from './pod-rows.js';
import { type Key } from './keys.js';

/** What pods are grouped by; `auto`: by something as long as there is no room for all of them. */
export type Grouping = 'auto' | 'none' | 'namespace' | 'owner';

/** How somebody wants to see a list of pods. Immutable. */
export interface PodListView {
  /** The key of the item, see {@link keyOfItem}; undefined: the first. */
  readonly selected: string | undefined;
  readonly filter: string;
  /** The filter is being typed. */
  readonly isTyping: boolean;
  readonly grouping: Grouping;
  /** Groups that somebody has opened or closed. */
  readonly toggled: ReadonlySet<string>;
}

export const INITIAL_LIST_VIEW: PodListView = {
  ...{ selected: undefined, filter: '', isTyping: false, grouping: 'auto', toggled: new Set() },
};

/** What a key of the list asks for beyond a change of the view. */
export type ListAction = 'open' | 'logs' | 'shell' | 'events' | 'help' | 'quit';

/** The help for the keys of the list, one row each. */
export const LIST_KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['↑ ↓ j k', 'select a pod; PgUp PgDn by ten, g G the first and the last'],
  ['Enter', 'details of the pod, as of podloop describe; open or close a group'],
  ['← →', 'close or open a group'],
  ['l', 'logs of the pod, and what is written from now on'],
  ['s', 'a shell in the pod; its end leads back to the screen'],
  ['/', 'show only pods with this text; Enter keeps it, Esc drops it'],
  ['t', 'group by namespace, by owner, not at all; else when there are many'],
  ['e', 'all that has happened, to scroll in'],
  ['Ctrl-L', 'draw again'],
  ['Ctrl-Z', 'suspend'],
  ['? h', 'this help'],
];

const MAX_FILTER_LENGTH = 253;
const GROUPINGS: readonly Grouping[] = ['auto', 'namespace', 'owner', 'none'];
const STEPS: Readonly<Record<string, number>> = {
  ...{ up: -1, k: -1, down: 1, j: 1, 'page-up': -10, 'page-down': 10 },
  ...{ home: -Infinity, g: -Infinity, end: Infinity, G: Infinity },
};
const ACTIONS: Readonly<Record<string, ListAction>> = {
  ...{ l: 'logs', s: 'shell', e: 'events', '?': 'help', h: 'help', q: 'quit', Q: 'quit' },
};

/** Identifies an item as long as the list is about the same pods. */
export function keyOfItem(item: ListItem): string {
  return item.kind === 'group' ? `group ${item.name}` : `pod ${item.pod.pod.uid}`;
}

/**
 * The items that there are to show, in order. Pure.
 *
 * Where there is no room for all pods, they are grouped by namespace, or by owner when they are of one namespace, and a
 * group in which all are well is closed. Pods without such groups have those first that are not well.
 */
export function toItems(pods: readonly ScreenPod[], view: PodListView, room: number): ListItem[] {
  const wanted = view.filter === '' ? pods : pods.filter((pod) => matches(pod, view.filter));
  const isCrowded = wanted.length > room;
  const isAuto = view.grouping === 'auto';
  const grouping = isAuto ? (isCrowded ? chooseGrouping(wanted) : 'none') : view.grouping;
  const plain = (pod: ScreenPod): ListItem => ({ kind: 'pod', pod, isInGroup: false });
  if (grouping === 'none') return (isAuto && isCrowded ? byNeed(wanted) : wanted).map(plain);
  const groups = new Map<string, ScreenPod[]>();
  for (const pod of wanted) {
    const name = groupOf(pod, grouping);
    const members = groups.get(name);
    if (members === undefined) groups.set(name, [pod]);
    else members.push(pod);
  }
  return [...groups].flatMap(([name, members]) => {
    // Whoever searches wants to see what was found.
    const opens = !isAuto || view.filter !== '' || members.some((pod) => healthOf(pod) !== 'well');
    const isOpen = opens !== view.toggled.has(name);
    const head: ListItem = { kind: 'group', name, pods: members, isOpen };
    const rest = members.map((pod): ListItem => ({ kind: 'pod', pod, isInGroup: true }));
    return isOpen ? [head, ...rest] : [head];
  });
}

/** The index of the selected item; the first one when it is gone. */
export function findSelected(items: readonly ListItem[], { selected }: PodListView): number {
  const at = items.findIndex((item) => keyOfItem(item) === selected);
  return Math.max(0, at);
}

/** What a key makes of the view of these items. Pure. */
export function pressListKey(
  view: PodListView,
  key: Key,
  items: readonly ListItem[],
): { readonly view: PodListView; readonly action?: ListAction } {
  if (view.isTyping) return { view: typeFilter(view, key) };
  const at = findSelected(items, view);
  const item = items[at];
  const step = STEPS[key];
  if (step !== undefined) {
    const next = items[Math.max(0, Math.min(items.length - 1, at + step))];
    return { view: next === undefined ? view : { ...view, selected: keyOfItem(next) } };
  }
  if (key === 'enter' && item?.kind === 'pod') return { view, action: 'open' };
  if (item?.kind === 'group') {
    const wantsOpen = key === 'right' || (key === 'enter' && !item.isOpen);
    const wantsClosed = key === 'left' || (key === 'enter' && item.isOpen);
    if ((wantsOpen && !item.isOpen) || (wantsClosed && item.isOpen)) return { view: toggle(view, item.name) };
  }
  if (key === 'left' && item?.kind === 'pod' && item.isInGroup) return { view: selectGroup(view, items, at) };
  const action = ACTIONS[key];
  if (action !== undefined) return { view, action };
  if (key === '/') return { view: { ...view, isTyping: true } };
  if (key === 'escape') return { view: { ...view, filter: '' } };
  if (key === 't') {
    const grouping = GROUPINGS[(GROUPINGS.indexOf(view.grouping) + 1) % GROUPINGS.length]!;
    return { view: { ...view, grouping, toggled: new Set() } };
  }
  return { view };
}

function toggle(view: PodListView, name: string): PodListView {
  const toggled = new Set(view.toggled);
  if (!toggled.delete(name)) toggled.add(name);
  return { ...view, toggled, selected: `group ${name}` };
}

function selectGroup(view: PodListView, items: readonly ListItem[], at: number): PodListView {
  const group = items.slice(0, at).findLast(({ kind }) => kind === 'group');
  return group === undefined ? view : { ...view, selected: keyOfItem(group) };
}

/** What a key makes of a text that is typed into the last row. */
export function typeText(text: string, key: Key): string {
  if (key === 'backspace') return Array.from(text).slice(0, -1).join('');
  if (key === 'erase-line') return '';
  return Array.from(key).length === 1 ? (text + key).slice(0, MAX_FILTER_LENGTH) : text;
}

function typeFilter(view: PodListView, key: Key): PodListView {
  if (key === 'enter') return { ...view, isTyping: false };
  if (key === 'escape') return { ...view, isTyping: false, filter: '' };
  return { ...view, filter: typeText(view.filter, key) };
}

function matches({ pod, status, owner = '' }: ScreenPod, filter: string): boolean {
  const wanted = filter.toLowerCase();
  return [formatPod(pod), pod.uid, status, owner].some((text) => text.toLowerCase().includes(wanted));
}

function chooseGrouping(pods: readonly ScreenPod[]): Grouping {
  if (new Set(pods.map(({ pod }) => pod.namespace)).size > 1) return 'namespace';
  const owners = new Set(pods.map((pod) => groupOf(pod, 'owner')));
  return owners.size > 1 && owners.size <= pods.length / 2 ? 'owner' : 'none';
}

function groupOf({ pod, owner }: ScreenPod, grouping: Grouping): string {
  if (grouping === 'namespace') return pod.namespace;
  return `${pod.namespace}/${owner ?? '(no owner)'}`;
}

function byNeed(pods: readonly ScreenPod[]): ScreenPod[] {
  const rank = { unwell: 0, changing: 1, well: 2 };
  return [...pods].sort((one, other) => rank[healthOf(one)] - rank[healthOf(other)]);
}
