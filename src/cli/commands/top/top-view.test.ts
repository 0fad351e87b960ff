import { describe, expect, it } from 'vitest';
import { decodeKeys } from '../../shared/screen/keys.js';
import { anInspection } from '#support/builders/pleg-report-builder.js';
import { type PodRow } from './sort-pods.js';
import { findSelected, INITIAL_VIEW, pressKey, type TopView } from './top-view.js';

const PODS: readonly PodRow[] = Array.from({ length: 30 }, (_, at) => ({
  ...anInspection(`pod-${at}`),
  stuck: undefined,
}));

/** What the keys, as a terminal sends them, make of the view of 30 pods. */
function press(text: string, view: TopView = INITIAL_VIEW): TopView {
  return decodeKeys(text).reduce((before, key) => pressKey(before, key, PODS).view, view);
}

describe('keys', () => {
  it('are taken apart, sequences and pasted text among them, and unknown ones left out', () => {
    expect(decodeKeys('q\x1b[A\x1bOB\x1b[5~é\r')).toEqual(['q', 'up', 'down', 'page-up', 'é', 'enter']);
    expect(decodeKeys('\x1b[200~ab\x1b[201~\x1bx\x00\x1b[99;5u')).toEqual(['a', 'b']);
    expect(decodeKeys('\x1b')).toEqual(['escape']);
  });

  it('go through the orders, choose one, and turn it round', () => {
    expect(['s', 'ss', 'ssssss', 'n', 'nr', 'rr'].map((keys) => press(keys))).toMatchObject([
      { order: 'last' },
      { order: 'longest' },
      { order: 'worst' },
      { order: 'name' },
      { order: 'name', reversed: true },
      { order: 'worst', reversed: false },
    ]);
  });

  it('type a filter, in which letters mean themselves, and drop it again', () => {
    expect(press('/sq?')).toMatchObject({ filter: 'sq?', isTyping: true, order: 'worst', showsHelp: false });
    expect(press('/web\x7f\x7fx\r')).toMatchObject({ filter: 'wx', isTyping: false });
    expect(press('/web\r\x1b')).toMatchObject({ filter: '' });
    expect(press('/web\x1b')).toMatchObject({ filter: '', isTyping: false });
    expect(press('/web\x15a')).toMatchObject({ filter: 'a' });
    expect(press(`/${'x'.repeat(5_000)}`).filter).toHaveLength(253);
  });

  it('select a pod, and never one past an end', () => {
    const selected = (keys: string): number => findSelected(PODS, press(keys));
    expect(['', 'jj\x1b[B', 'k', 'G', '\x1b[6~\x1b[6~k', 'Gg', 'jjs', 'jj/x'].map(selected)).toEqual([
      ...[0, 3, 0, 29, 19, 0, 0, 0],
    ]);
  });

  it('stay with the selected pod wherever it moves, and at its place when it is gone', () => {
    const view = press('jjj');
    const moved = [PODS[7]!, PODS[3]!, PODS[0]!];
    expect(findSelected(moved, view)).toBe(1);
    expect(
      findSelected(
        PODS.filter(({ pod }) => pod.uid !== 'pod-3'),
        view,
      ),
    ).toBe(3);
    expect(findSelected([PODS[0]!], view)).toBe(0);
    expect(findSelected([], view)).toBe(0);
    expect(pressKey(view, 'down', moved).view).toMatchObject({ selectedUid: 'pod-0', selectedAt: 2 });
  });

  it('ask for details of the selected pod, if there is one', () => {
    expect(pressKey(INITIAL_VIEW, 'enter', PODS).action).toBe('details');
    expect(pressKey(INITIAL_VIEW, 'enter', []).action).toBeUndefined();
    expect(pressKey(press('/x'), 'enter', PODS)).toMatchObject({ view: { isTyping: false } });
    expect(pressKey(press('?'), 'enter', PODS)).toEqual({ view: press('') });
  });

  it('pause and go on, show the help and leave it with any key', () => {
    expect(press(' ').isPaused).toBe(true);
    expect(press('  ').isPaused).toBe(false);
    expect(press('?').showsHelp).toBe(true);
    expect(press('?n')).toMatchObject({ showsHelp: false, order: 'worst' });
  });

  it.each([
    ['q', 'quit'],
    ['\x03', 'quit'],
    ['\x1a', 'suspend'],
    ['\x0c', 'redraw'],
  ])('%j asks for: %s', (text, action) => {
    expect(pressKey(INITIAL_VIEW, decodeKeys(text)[0]!, PODS).action).toBe(action);
  });

  it('end it also while a filter is typed, but not with a letter', () => {
    const typing = press('/a');
    expect(pressKey(typing, 'q', PODS)).toMatchObject({ view: { filter: 'aq' } });
    expect(pressKey(typing, 'interrupt', PODS).action).toBe('quit');
  });
});
