import { PassThrough } from 'node:stream';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../../src/cli/cli-host.js';
import { LineOutput } from '../../../src/cli/line-output.js';

/** Of a command line of which only the words matter: nobody types, interrupts or reads. */
export const SILENT_HOST: CliHost = {
  env: {},
  pid: 1,
  clock: new FakeClock(),
  stdin: new PassThrough(),
  stdout: new LineOutput(new PassThrough()),
  stderr: new LineOutput(new PassThrough()),
  selfCommand: ['podloop'],
  listenForInterrupts: () => new AbortController().signal,
  onUserSignal: () => () => undefined,
};
