import { describe, expect, it } from 'vitest';
import { decodeKeys } from '../../shared/screen/keys.js';
import { INITIAL_VIEW, pressKey, type TopView } from './top-view.js';

/** What the keys, as a terminal sends them, make of the view of 30 pods. */
function press(text: string, view: TopView = INITIAL_VIEW): TopView {
  return decodeKeys(text).reduce((before, key) => pressKey(before, key, 30).view, view);
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

  it('scroll, and never past an end', () => {
    expect(press('jj\x1b[B').offset).toBe(3);
    expect(press('k').offset).toBe(0);
    expect(press('G').offset).toBe(29);
    expect(press('\x1b[6~\x1b[6~k').offset).toBe(19);
    expect(press('Gg').offset).toBe(0);
    expect(press('jjs').offset).toBe(0);
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
    expect(pressKey(INITIAL_VIEW, decodeKeys(text)[0]!, 30).action).toBe(action);
  });

  it('end it also while a filter is typed, but not with a letter', () => {
    const typing = press('/a');
    expect(pressKey(typing, 'q', 30)).toMatchObject({ view: { filter: 'aq' } });
    expect(pressKey(typing, 'interrupt', 30).action).toBe('quit');
  });
});
