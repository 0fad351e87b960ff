import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { hostLinkSettings, podLinkSettings } from './link-settings.js';
import { UnwrittenSettings } from './unwritten-settings.js';

const filesOf = (link: string): string[] => hostLinkSettings(link).map(([file]) => file);

it('are logged once, with what to do, however many pods they concern', () => {
  const logger = new LogRecorder();
  const unwritten = new UnwrittenSettings({ logger, message: 'not written' });
  unwritten.log([], { sandboxId: 's0' });
  for (let pod = 1; pod <= 300; pod++) unwritten.log(filesOf(`pl${pod}`), { sandboxId: `s${pod}` });
  unwritten.log([...filesOf('pl7'), ...filesOf('pl8')], { link: 'pl7 pl8' });
  expect(logger.lines.map(({ level, fields }) => [level, fields['sandboxId']])).toEqual([['warn', 's1']]);
  expect(logger.lines[0]?.fields['files']).toBe(filesOf('pl1').join(' '));
  expect(logger.lines[0]?.fields['remedy']).toMatch(/\/proc\/sys writable.*NET_RAW/);
});

it('are logged again when they are others, and the oldest are forgotten when there are too many', () => {
  const logger = new LogRecorder();
  const unwritten = new UnwrittenSettings({ logger, message: 'not written' });
  const log = (files: readonly string[]): number => {
    unwritten.log(files, {});
    return logger.lines.length;
  };
  const [one = ''] = filesOf('pl1');
  const inPod = podLinkSettings('eth0').map(([file]) => file);
  expect([log([one]), log(inPod), log([one]), log(inPod)]).toEqual([1, 2, 2, 2]);
  for (let at = 0; at < 100; at++) log([`/proc/sys/net/ipv4/conf/pl1/setting${at}`]);
  expect([log([one]), log([one])]).toEqual([103, 103]);
});
