import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { ScreenLog } from './screen-log.js';

function lab() {
  const shown: string[] = [];
  const behind = new LogRecorder();
  const log = new ScreenLog({ show: (sentence) => void shown.push(sentence), behind });
  return { shown, behind, log };
}

it('shows warnings and errors as sentences, and nothing else', () => {
  const { shown, log } = lab();
  log.info();
  log.warn('Disk is nearly full', { usage: 93, path: undefined });
  log.error('Cannot be read', new Error('no such file'), { path: '/a b' });
  log.error('It ended');
  log.error('Cannot be synced', new Error('no room'), { pod: 'web', podUID: 'u' });
  expect(shown).toEqual([
    'Disk is nearly full usage=93',
    'Cannot be read err="no such file" path="/a b"',
    'It ended',
    'Cannot be synced pod="web" err="no room" podUID="u"',
  ]);
  expect(log.enabled()).toBe(false);
});

it('writes what it showed once the terminal is free, the newest of it, and once', () => {
  const { behind, log } = lab();
  for (let index = 0; index < 60; index++) log.warn(`warning ${index}`);
  log.error('last', new Error('why'), { pod: 'a' });
  expect(behind.lines).toEqual([]);
  log.flush();
  log.flush();
  expect(behind.lines).toHaveLength(50);
  expect(behind.lines[0]).toMatchObject({ message: 'warning 11' });
  expect(behind.lines.at(-1)).toMatchObject({ message: 'last', fields: { pod: 'a' } });
});
