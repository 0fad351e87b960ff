import { type Key } from '../../shared/screen/keys.js';
import { POD_ORDERS, type PodOrder, type PodRow, type PodSelection } from './sort-pods.js';

/** How somebody wants to see things. Immutable. */
export interface TopView extends PodSelection {
  /** The filter is being typed. */
  readonly isTyping: boolean;
  readonly isPaused: boolean;
  readonly showsHelp: boolean;
  /** The uid of the selected pod; empty for the first one. */
  readonly selectedUid: string;
  /** Its place when it was selected: what is there is selected once the pod itself is gone. */
  readonly selectedAt: number;
}

/** What a key does beyond changing the view. */
export type TopAction = 'quit' | 'suspend' | 'redraw' | 'details';

const FIRST = { selectedUid: '', selectedAt: 0 };

/** The view at the beginning. */
export const INITIAL_VIEW: TopView = {
  ...{ order: 'worst', reversed: false, filter: '' },
  ...{ isTyping: false, isPaused: false, showsHelp: false },
  ...FIRST,
};

/** Longer than any name; a text that was pasted is not a filter. */
const MAX_FILTER_LENGTH = 253;

/** The help for the keys, one row each. */
export const KEY_HELP: readonly (readonly [keys: string, what: string])[] = [
  ['s', 'next order: worst first, last inspection, longest, failures, inspections, name'],
  ['w l m f c n', 'that order at once (m: the most that one has taken, c: their count)'],
  ['r', 'the other way round'],
  ['/', 'show only pods and calls with this text; Enter keeps it, Esc drops it'],
  ['Space', 'pause, and go on'],
  ['↑ ↓ j k', 'select a pod'],
  ['PgUp PgDn g G', 'the tenth before or behind it; the first, the last'],
  ['Enter', 'details of the selected pod: its inspections and its calls in flight'],
  ['Ctrl-L', 'draw again'],
  ['Ctrl-Z', 'suspend'],
  ['? h', 'this help'],
  ['q Ctrl-C', 'quit'],
];

const ORDER_KEYS: Readonly<Record<string, PodOrder>> = {
  ...{ w: 'worst', l: 'last', m: 'longest' },
  ...{ f: 'failures', c: 'inspections', n: 'name' },
};
const MOVES: Readonly<Record<string, number>> = {
  ...{ up: -1, k: -1, down: 1, j: 1, 'page-up': -10, 'page-down': 10 },
  ...{ home: -Infinity, g: -Infinity, end: Infinity, G: Infinity },
};

/** The place of the selected pod among these. Pure. */
export function findSelected(pods: readonly PodRow[], { selectedUid, selectedAt }: TopView): number {
  const at = selectedUid === '' ? -1 : pods.findIndex(({ pod }) => pod.uid === selectedUid);
  return at >= 0 ? at : Math.max(0, Math.min(selectedAt, pods.length - 1));
}

/** What a key makes of the view of these pods. Pure. */
export function pressKey(
  view: TopView,
  key: Key,
  pods: readonly PodRow[],
): { view: TopView; action?: TopAction } {
  if (key === 'interrupt') return { view, action: 'quit' };
  if (key === 'suspend') return { view, action: 'suspend' };
  if (key === 'redraw') return { view, action: 'redraw' };
  if (view.isTyping) return { view: typeFilter(view, key) };
  // Any key leaves the help; those that end everything still do.
  if (key === 'q' || key === 'Q') return { view, action: 'quit' };
  if (view.showsHelp) return { view: { ...view, showsHelp: false } };
  const order = ORDER_KEYS[key];
  if (order !== undefined) return { view: { ...view, order, ...FIRST } };
  const move = MOVES[key];
  if (move !== undefined) {
    const at = Math.max(0, Math.min(findSelected(pods, view) + move, pods.length - 1));
    return { view: { ...view, selectedUid: pods[at]?.pod.uid ?? '', selectedAt: at } };
  }
  if (key === 'enter') return pods.length === 0 ? { view } : { view, action: 'details' };
  return { view: changeView(view, key) };
}

function changeView(view: TopView, key: Key): TopView {
  switch (key) {
    case 's':
      return { ...view, order: nextOrder(view.order), ...FIRST };
    case 'r':
      return { ...view, reversed: !view.reversed, ...FIRST };
    case ' ':
      return { ...view, isPaused: !view.isPaused };
    case '/':
      return { ...view, isTyping: true };
    case '?':
    case 'h':
      return { ...view, showsHelp: true };
    case 'escape':
      return { ...view, filter: '', ...FIRST };
    default:
      return view;
  }
}

function typeFilter(view: TopView, key: Key): TopView {
  const filtered = (filter: string): TopView => ({
    ...view,
    filter: filter.slice(0, MAX_FILTER_LENGTH),
    ...FIRST,
  });
  switch (key) {
    case 'enter':
      return { ...view, isTyping: false };
    case 'escape':
      return { ...filtered(''), isTyping: false };
    case 'backspace':
      return filtered(Array.from(view.filter).slice(0, -1).join(''));
    case 'erase-line':
      return filtered('');
    default:
      return Array.from(key).length === 1 ? filtered(view.filter + key) : view;
  }
}

function nextOrder(order: PodOrder): PodOrder {
  return POD_ORDERS[(POD_ORDERS.indexOf(order) + 1) % POD_ORDERS.length]!;
}
