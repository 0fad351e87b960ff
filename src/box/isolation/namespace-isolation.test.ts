import { expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { NamespaceIsolation } from './namespace-isolation.js';
import { warnWithoutStarter } from './script/program-starter.js';

it.each([
  ['without perl', undefined],
  ['with perl', ['./perl', './start.pl']],
])('%s the log and the notice say whether a working directory can be swapped', (_with, starter) => {
  const logger = new LogRecorder();
  warnWithoutStarter(starter, logger);
  const isolation = new NamespaceIsolation({
    ...{ tools: { starter }, isolatesNetwork: true, keyring: {} },
  } as never);
  const isMissing = starter === undefined;
  expect(isolation.notice.includes('no perl')).toBe(isMissing);
  expect(isolation.notice).not.toContain('keyrings');
  expect(logger.complaints.map(({ message, fields }) => [message, fields['wanted']])).toEqual(
    isMissing
      ? [['Working directories are checked and entered in two steps', expect.stringContaining('perl')]]
      : [],
  );
});
