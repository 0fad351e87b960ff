import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { type PageContent } from './page-content.js';
import { servePage } from './serve-page.js';

const CONTENT: PageContent = {
  facts: { canWrite: false, isRecorded: false },
  answer: () => Promise.resolve(undefined),
};

/** What a page prints where it is started, with this environment. */
async function saidWith(env: Record<string, string>, enter = 0): Promise<{ out: string; err: string }> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const ending = new AbortController();
  const host: CliHost = {
    ...{ env, pid: 1, clock: new FakeClock(), selfCommand: ['podloop'], stdin },
    ...{ stdout: new LineOutput(out), stderr: new LineOutput(err) },
    listenForInterrupts: () => ending.signal,
    onUserSignal: () => () => undefined,
  };
  const read = (stream: PassThrough): string => ((stream.read() as Buffer | null) ?? '').toString();
  const serving = servePage({ host, content: CONTENT, title: 'The page', port: 0, signal: ending.signal });
  let said = '';
  const links = (): number => (said += read(out)).split('#key=').length - 1;
  await expect.poll(links).toBe(1);
  for (let at = 0; at < enter; at++) stdin.write('\n');
  await expect.poll(links).toBe(1 + enter);
  ending.abort();
  await serving;
  return { out: said, err: read(err) };
}

it('prints the ssh command for one’s own machine if the shell is an ssh session', async () => {
  const { out, err } = await saidWith({ SSH_CONNECTION: '10.0.0.1 50000 10.0.0.2 22' });
  const [, port] = /127\.0\.0\.1:(\d+)\/#key=/.exec(out)!;
  expect(err).toContain(`ssh -L ${port}:127.0.0.1:${port} NODE`);
  expect((await saidWith({})).err).not.toContain('ssh');
});

it('prints another link for each Enter, and none of them twice', async () => {
  const { out } = await saidWith({}, 2);
  const keys = [...out.matchAll(/#key=([\w-]+)/g)].map(([, key]) => key);
  expect(new Set(keys).size).toBe(3);
});
